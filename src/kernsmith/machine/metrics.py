# SPDX-License-Identifier: GPL-2.0-or-later
"""The catalogue of metrics: names, units, and what they are figures of. Order is that of tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kernsmith.errors import UserError
from kernsmith.guest.own_metric import OwnMetric
from kernsmith.guest.workloads import Workload
from kernsmith.machine.protocol import Metric

MODEL_CYCLES = "model_cycles"
KERNEL_INSTRUCTIONS = "kernel_instructions"
USER_INSTRUCTIONS = "user_instructions"
SECONDS = "seconds"
MAX_RSS = "max_rss"
CORE_CYCLES = "core_cycles"
KERNEL_CYCLES = "kernel_cycles"
REFERENCE_CYCLES = "reference_cycles"
LEAST_CYCLES = "least_cycles"
CORE_CYCLES_EVEN, CORE_CYCLES_ODD = "core_cycles_even", "core_cycles_odd"

VERSION = 2
"""Of what the names mean, part of every machine's fingerprint: a ledger's older figures, where
`seconds` of the virtual clock had the name of real ones, are of other trials."""

METRICS: tuple[Metric, ...] = (
    Metric(CORE_CYCLES, "cycles", "cycles of the core that the region took", "real", True),
    Metric(CORE_CYCLES_EVEN, "cycles", "the same by the even runs alone: its noise", "real"),
    Metric(CORE_CYCLES_ODD, "cycles", "the same by the odd runs alone", "real"),
    Metric(
        REFERENCE_CYCLES, "cycles", "ticks of the time stamp counter in the region", "real", True
    ),
    Metric(LEAST_CYCLES, "cycles", "the same, part by part the least of a boot's runs", "real"),
    Metric(KERNEL_CYCLES, "cycles", "cycles of the core in kernel mode", "real", True),
    Metric("user_cycles", "cycles", "cycles of the core in user mode", "real"),
    Metric(MODEL_CYCLES, "cycles", "front-end model's sum over kernel code", "modelled", True),
    Metric(KERNEL_INSTRUCTIONS, "instructions", "executed in kernel mode", "counted", True),
    Metric("pmu_l1i_misses", "misses", "L1i misses in kernel mode, by the PMU", "counted"),
    Metric("pmu_itlb_misses", "misses", "iTLB misses in kernel mode, by the PMU", "counted"),
    Metric("pmu_branch_misses", "branches", "mispredicted in kernel mode, by the PMU", "counted"),
    Metric("l1i_misses", "misses", "kernel fetches that miss the L1 cache", "modelled", True),
    Metric("itlb_misses", "misses", "kernel fetches that miss the first TLB", "modelled", True),
    Metric("stlb_misses", "misses", "kernel fetches that miss both TLBs", "modelled"),
    Metric("l2i_misses", "misses", "kernel fetches that miss the L2 cache", "modelled"),
    Metric("l1d_misses", "misses", "kernel loads and stores that miss the L1 cache", "modelled"),
    Metric("l2_misses", "misses", "kernel loads and stores that miss the L2 cache", "modelled"),
    Metric("l3_misses", "misses", "kernel loads and stores that miss the L3 cache", "modelled"),
    Metric("dtlb_misses", "misses", "kernel loads and stores that miss the first TLB", "modelled"),
    Metric("l1d_accesses", "accesses", "cache lines that these loads and stores use", "modelled"),
    Metric("taken_branches", "branches", "kernel branches that were taken", "counted", True),
    Metric(
        "conditional_branches",
        "branches",
        "conditional branches executed in kernel mode",
        "counted",
    ),
    Metric(
        "branch_mispredictions",
        "branches",
        "conditional branches that the modelled predictor got wrong",
        "modelled",
        headline=True,
    ),
    Metric(
        "indirect_mispredictions", "branches", "indirect branches and returns, likewise", "modelled"
    ),
    Metric("l1i_accesses", "accesses", "cache lines that kernel code asked for", "modelled"),
    Metric(USER_INSTRUCTIONS, "instructions", "executed in user mode", "counted"),
    Metric("rep_iterations", "iterations", "of rep string instructions", "counted"),
    Metric(SECONDS, "s", "time of the region", "real", headline=True),
    Metric("sys_seconds", "s", "the region's CPU time in kernel mode", "real", headline=True),
    Metric("user_seconds", "s", "the region's CPU time in user mode", "real"),
    Metric("virtual_seconds", "s", "time of the region by the guest's clock", "virtual"),
    Metric("virtual_sys_seconds", "s", "CPU time in kernel mode by that clock", "virtual"),
    Metric("virtual_user_seconds", "s", "CPU time in user mode by that clock", "virtual"),
)

OF_COMMANDS: tuple[Metric, ...] = (
    Metric(MAX_RSS, "KiB", "most memory that a process had at once", "counted"),
    Metric("minor_faults", "faults", "page faults without I/O", "counted"),
    Metric("major_faults", "faults", "page faults that waited for I/O", "counted"),
    Metric("voluntary_switches", "switches", "waits that gave a processor up", "counted"),
    Metric("involuntary_switches", "switches", "a processor was taken away", "counted"),
    Metric("blocks_read", "blocks", "of 512 bytes, from devices", "counted"),
    Metric("blocks_written", "blocks", "of 512 bytes, to devices", "counted"),
)
"""What the kernel counts of a command and its children, beside their times."""

RUSAGE: Mapping[str, str] = {
    "ru_utime": "user_seconds",
    "ru_stime": "sys_seconds",
    "ru_maxrss": MAX_RSS,
    "ru_minflt": "minor_faults",
    "ru_majflt": "major_faults",
    "ru_nvcsw": "voluntary_switches",
    "ru_nivcsw": "involuntary_switches",
    "ru_inblock": "blocks_read",
    "ru_oublock": "blocks_written",
}
"""Metrics by the fields of getrusage(2)."""

OF_REAL_CLOCK = (SECONDS, "sys_seconds", "user_seconds")
"""By the clock of a guest's kernel, where that is a real one."""

OF_PMU = ("pmu_l1i_misses", "pmu_itlb_misses", "pmu_branch_misses")
"""Events of a real processor. Those that a CPU model has under these names are modelled."""

OF_TIMED = (
    REFERENCE_CYCLES, KERNEL_CYCLES, "user_cycles", KERNEL_INSTRUCTIONS, USER_INSTRUCTIONS,
    *OF_PMU, *OF_REAL_CLOCK,
)  # fmt: skip
"""What a program with a real clock measures (guest/timed), as far as its processor has a PMU."""

CHUNKS = "chunks"
"""In a run's provenance: what each part of the region took, in ticks of the time stamp counter."""

OF_DATA = frozenset({"l1d_misses", "l2_misses", "l3_misses", "dtlb_misses", "l1d_accesses"})
"""Of loads and stores: only the depth `core` follows these."""

_ALL = (*METRICS, *OF_COMMANDS)
_BY_NAME = {metric.name: metric for metric in _ALL}
_PLACE = {metric.name: place for place, metric in enumerate(_ALL)}


def metric(name: str) -> Metric:
    """The metric of this name; one that a guest invented has no unit and is a count of its own."""
    return _BY_NAME.get(name) or Metric(name, "", "", "counted")


def check_own_metrics(workload: Workload) -> None:
    """That what a workload tells itself has no name of what machines measure.

    Raises:
        UserError: it has.
    """
    for each in workload.metrics:
        if each.name in _BY_NAME:
            raise UserError(
                f"{workload.file or workload.name}: metrics: {each.name!r} is what machines "
                "measure: give the workload's own metric another name"
            )


def in_units(
    figures: Mapping[str, float], own: Iterable[OwnMetric] = ()
) -> dict[str, tuple[float, str]]:
    """Figures with their units. own: those that a workload tells itself."""
    units = {each.name: each.unit for each in own}
    return {
        name: (value, units[name] if name in units else metric(name).unit)
        for name, value in figures.items()
    }


def by_virtual_clock(figures: Mapping[str, float]) -> dict[str, float]:
    """What a guest said whose clock is virtual: the times get the names of such times."""
    return {
        f"virtual_{name}" if metric(name).meaning == "real" else name: value
        for name, value in figures.items()
    }


def in_order(names: set[str]) -> list[str]:
    """Names in the order of the catalogue; those it does not know come last, by name."""
    return sorted(names, key=lambda name: (_PLACE.get(name, len(_PLACE)), name))
