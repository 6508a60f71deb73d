# SPDX-License-Identifier: GPL-2.0-or-later
"""What is the same for real machines, however kernels get there: settings, metrics, assumptions."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from kernsmith.guest.workloads import Workload
from kernsmith.machine.metrics import (
    LEAST_CYCLES,
    OF_REAL_CLOCK,
    OF_TIMED,
    REFERENCE_CYCLES,
    in_order,
    metric,
)
from kernsmith.machine.protocol import Metric

MANNER = 1
"""Of how kernels are entered and what is made of their times: a change that moves figures."""

ASSUMPTIONS = (
    "Times are real: reference_cycles are of the time stamp counter, seconds of "
    "CLOCK_MONOTONIC_RAW, which nobody sets. Of a trial's runs in one boot the median counts.",
    "Each boot comes from the machine's own kernel by kexec, and is left through the firmware.",
    "Addresses are those that the kernel was linked at (nokaslr). A workload's processes share one "
    "processor.",
)


class RealTable(BaseModel):
    """[machine.settings] of every real machine.

    runs: of each trial in its boot. processor: the number of the one to run on; by default the last
    that is online, -1 is any. time_limit: of a run. initramfs: a file there that every kernel is
    given. words: put behind the kernel's command line. tune: the governor `performance`, and no
    turbo, where there are knobs.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    runs: int = Field(5, ge=1, le=10_000)
    processor: int | None = Field(None, ge=-1)
    time_limit: float = Field(600.0, ge=1)
    initramfs: str = ""
    words: str = ""
    tune: bool = True


def real_metrics(*, counts: bool) -> tuple[Metric, ...]:
    """What such a machine measures. counts: whether its processor counts events."""
    names = OF_TIMED if counts else (REFERENCE_CYCLES, *OF_REAL_CLOCK)
    return tuple(map(metric, in_order({LEAST_CYCLES, *names})))


def refusal_of(name: str, workload: Workload) -> str:
    """Why the runner does not have a workload; empty where it has."""
    if workload.root or workload.initramfs:
        return (
            f"the machine {name} runs the workloads of kernsmith-guest alone, and "
            f"{workload.name!r} is a program of its own"
        )
    return ""
