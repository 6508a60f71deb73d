# SPDX-License-Identifier: GPL-2.0-or-later
"""What stacks of functions cost in two kernels: the figures of a differential flame graph."""

from __future__ import annotations

from dataclasses import dataclass

Pair = tuple[float, float]
"""A figure of the baseline, and of the variant."""


@dataclass(frozen=True)
class FlameNodeView:
    """A function in a stack.

    parent: the place of the node that it is called or inlined in, which comes before it; None where
    the kernel is entered, an interrupt handled, or a thread begins.
    model_cycles: its own, without what it calls, for each million kernel instructions of the
    baseline, mean over workloads.
    """

    parent: int | None
    name: str
    model_cycles: Pair


@dataclass(frozen=True)
class FlameView:
    """Stacks of both kernels under all workloads, each with the same weight.

    nodes: functions that take, with all that they call, at least a thousandth of the baseline's
    cycles in either kernel; what the others cost is in those that called them.
    lost: share of the returns that led to no call that was known to be open, in the kernel and the
    workload with most of them: so much of the stacks is unsure.
    """

    nodes: tuple[FlameNodeView, ...]
    lost: float
