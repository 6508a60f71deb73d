# SPDX-License-Identifier: GPL-2.0-or-later
"""What a machine is: a place that boots an image, runs a workload, and returns metrics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from kernsmith.guest.workloads import Workload

OK = "ok"
PANIC = "panic"
HANG = "hang"
FAILED = "failed"


@dataclass(frozen=True)
class Boot:
    """One boot: an image, one workload, and a folder for what comes out.

    profile: also write the exact branch counts (only where `Machine.profiles`).
    trace: also write the sequence of executed blocks, with this word in it that says of what it
        is; empty writes none (only where `Machine.profiles`).
    """

    image: Path
    workload: Workload
    folder: Path
    profile: bool = False
    trace: str = ""


@dataclass(frozen=True)
class Outcome:
    """How a boot ended.

    status: `ok`, `panic` (the kernel died), `hang` (its time limit passed) or `failed` (the
        workload reported an error, or the machine itself did).
    reason: one sentence; empty when ok.
    metrics: the region of interest in figures, each with its unit.
    console: the file with all that the guest printed.
    counts: branch counts, when they were asked for.
    trace: the executed blocks, when they were asked for.
    """

    status: str
    reason: str
    metrics: Mapping[str, tuple[float, str]]
    console: Path
    wall_seconds: float
    command: tuple[str, ...]
    counts: Path | None = None
    trace: Path | None = None

    @property
    def ok(self) -> bool:
        """Whether there are metrics to believe."""
        return self.status == OK


class Machine(Protocol):
    """Where kernels boot.

    exact: repeated runs give equal metrics, so one replicate says it all and an earlier run of
        the same trial may be taken over from the ledger.
    profiles: it can write exact branch counts and traces.
    """

    name: str
    exact: bool
    profiles: bool

    def fingerprint(self) -> Mapping[str, Any]:
        """JSON-able: everything of this machine that a run's metrics depend on."""
        ...

    def run(self, boot: Boot) -> Outcome:
        """Boot, run the workload to its end, and return what was measured. Thread-safe."""
        ...


Better = Literal["lower", "higher"]

Meaning = Literal["counted", "modelled", "virtual", "real"]
"""What a figure is of: `counted` events of the execution itself; events that a CPU model is
`modelled` to have had; time of a `virtual` clock, which is a count of instructions in other words;
or time of a `real` clock."""


@dataclass(frozen=True)
class Metric:
    """A named figure with its unit; headlines are what tables show first.

    better: whether less of it is good, as of time, or more, as of throughput.
    meaning: what it is a figure of. Figures of two meanings never share a name.
    """

    name: str
    unit: str
    description: str
    meaning: Meaning
    headline: bool = False
    better: Better = "lower"
