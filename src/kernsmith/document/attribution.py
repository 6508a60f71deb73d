# SPDX-License-Identifier: GPL-2.0-or-later
"""Which functions make the difference between two kernels, each in its default layout."""

from __future__ import annotations

from dataclasses import dataclass

from kernsmith.document.flame import FlameView, Pair


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
class CollidingPairView:
    """Misses of one function's lines, which fetches of another one had evicted.

    Names are symbols without a compiler's suffix: what a layout moves. evictor: empty for user
    mode. conflicts: of the misses, those that a fully associative cache of the same size would not
    have had. Figures are those of `FunctionCostView`.
    """

    evictor: str
    evicted: str
    misses: Pair
    conflicts: Pair


@dataclass(frozen=True)
class CacheSetView:
    """A set of the L1 instruction cache, by its number.

    lines: the fewest that have 90 % of its fetches, in the workload with the most; with more of
    them than the set has ways, it is overcommitted. functions: of the variant's, those that miss
    most in it.
    """

    number: int
    lines: tuple[int, int]
    fetches: Pair
    misses: Pair
    conflicts: Pair
    functions: tuple[str, ...]


@dataclass(frozen=True)
class CollisionsView:
    """What collides in the L1 instruction cache, of both kernels in their default layouts.

    misses: all of them. first: of lines that never were there. conflicts: those that a fully
    associative cache of the same size would not have had (Hill and Smith 1989).
    pairs: those with the most misses, and those with the most conflicts, in either kernel.
    sets: all, by their number.
    """

    ways: int
    line_bytes: int
    misses: Pair
    first: Pair
    conflicts: Pair
    pairs: tuple[CollidingPairView, ...]
    sets: tuple[CacheSetView, ...]


@dataclass(frozen=True)
class AttributionView:
    """by_source: functions of the source, wherever they were inlined; else symbols.

    functions: those with the largest changes first. change: of all of them, in per cent.

    rest: change of all functions that are not listed. repeated: of iterations of `rep`
    instructions, which are not known by function. ran: how many functions did in either.
    collisions, flame: None where an earlier version has counted. flame: None also unless
    `by_source`, since functions that only one kernel inlines would be none of the other's.
    """

    variant: str
    by_source: bool
    workloads: tuple[str, ...]
    change: float
    rest: float
    repeated: float
    ran: int
    functions: tuple[FunctionCostView, ...]
    collisions: CollisionsView | None = None
    flame: FlameView | None = None
