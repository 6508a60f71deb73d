# SPDX-License-Identifier: GPL-2.0-or-later
"""Which functions make the difference between two kernels, each in its default layout."""

from __future__ import annotations

from dataclasses import dataclass

Pair = tuple[float, float]
"""A figure of the baseline, and of the variant."""


@dataclass(frozen=True)
class FunctionCostView:
    """A function under all workloads, each with the same weight.

    Figures are for each million kernel instructions of the baseline, so that what a variant does
    with fewer instructions counts. name: without a compiler's suffix; functions of one name are
    one. change: of `model_cycles`, in per cent of all of the baseline's.
    """

    name: str
    change: float
    model_cycles: Pair
    kernel_instructions: Pair
    l1i_misses: Pair
    itlb_misses: Pair
    mispredictions: Pair


@dataclass(frozen=True)
class AttributionView:
    """by_source: functions of the source, wherever they were inlined; else symbols.

    functions: those with the largest changes first. change: of all of them, in per cent.

    rest: change of all functions that are not listed. repeated: of iterations of `rep`
    instructions, which are not known by function. ran: how many functions did in either.
    """

    variant: str
    by_source: bool
    workloads: tuple[str, ...]
    change: float
    rest: float
    repeated: float
    ran: int
    functions: tuple[FunctionCostView, ...]
