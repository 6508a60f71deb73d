# SPDX-License-Identifier: GPL-2.0-or-later
"""The catalogue of metrics: names, units, and what they mean. Order is that of tables."""

from __future__ import annotations

from kernsmith.machine.protocol import Metric

MODEL_CYCLES = "model_cycles"
SECONDS = "seconds"

METRICS: tuple[Metric, ...] = (
    Metric(MODEL_CYCLES, "cycles", "front-end model's sum over kernel code", headline=True),
    Metric("kernel_instructions", "instructions", "executed in kernel mode", headline=True),
    Metric("l1i_misses", "misses", "kernel fetches that miss the L1 cache", headline=True),
    Metric("itlb_misses", "misses", "kernel fetches that miss the first TLB", headline=True),
    Metric("stlb_misses", "misses", "kernel fetches that miss both TLBs"),
    Metric("l2i_misses", "misses", "kernel fetches that miss the L2 cache"),
    Metric("taken_branches", "branches", "kernel branches that were taken", headline=True),
    Metric("conditional_branches", "branches", "conditional branches executed in kernel mode"),
    Metric(
        "branch_mispredictions",
        "branches",
        "conditional branches that the modelled predictor got wrong",
        headline=True,
    ),
    Metric("indirect_mispredictions", "branches", "indirect branches and returns, likewise"),
    Metric("l1i_accesses", "accesses", "cache lines that kernel code asked for"),
    Metric("user_instructions", "instructions", "executed in user mode"),
    Metric("rep_iterations", "iterations", "of rep string instructions"),
    Metric(SECONDS, "s", "time of the region by the guest's monotonic clock"),
    Metric("sys_seconds", "s", "the region's CPU time in kernel mode"),
    Metric("user_seconds", "s", "the region's CPU time in user mode"),
)

_BY_NAME = {metric.name: metric for metric in METRICS}
_PLACE = {metric.name: place for place, metric in enumerate(METRICS)}


def metric(name: str) -> Metric:
    """The metric of this name; one that a machine or guest invented has no unit."""
    return _BY_NAME.get(name) or Metric(name, "", "")


def in_order(names: set[str]) -> list[str]:
    """Names in the order of the catalogue; those it does not know come last, by name."""
    return sorted(names, key=lambda name: (_PLACE.get(name, len(_PLACE)), name))
