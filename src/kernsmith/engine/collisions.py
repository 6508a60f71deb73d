# SPDX-License-Identifier: GPL-2.0-or-later
"""What collides in the instruction cache: two kernels beside each other, over all workloads."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from kernsmith.document import CacheSetView, CollidingPairView, CollisionsView
from kernsmith.engine.function_costs import Collisions, read_collisions
from kernsmith.engine.lab import Lab
from kernsmith.machine.metrics import KERNEL_INSTRUCTIONS

PAIRS = 20
_NAMED = 4
_Sums = dict[tuple[str, str], list[float]]


def collisions_view(
    base: Sequence[Collisions], other: Sequence[Collisions], weights: Sequence[float]
) -> CollisionsView:
    """Of the baseline and a variant; both by workload, each with its weight."""
    sides = (base, other)
    first = [_weighted([each.first for each in side], weights) for side in sides]
    sets = [_Sets(side, weights) for side in sides]
    pairs = [_pairs(side, weights) for side in sides]
    return CollisionsView(
        ways=base[0].ways,
        line_bytes=base[0].line_bytes,
        misses=(sum(sets[0].misses), sum(sets[1].misses)),
        first=(first[0], first[1]),
        conflicts=(sum(sets[0].conflicts), sum(sets[1].conflicts)),
        pairs=_most(pairs[0], pairs[1]),
        sets=tuple(_set(number, *sets) for number in range(len(sets[0].misses))),
    )


def lab_collisions(lab: Lab, order: Sequence[str]) -> CollisionsView:
    """Of a kernel's default layout and of an order, beside each other; an empty order is the
    default layout."""
    told = [lab.evaluator.collisions(each) for each in ([], *([order] if order else []))]
    sides = [[read_collisions(each) for each in of_layout] for of_layout in told]
    counts = [lab.traced[workload][KERNEL_INSTRUCTIONS] for workload in lab.evaluator.workloads]
    return collisions_view(sides[0], sides[-1], [1e6 / count / len(counts) for count in counts])


def _weighted(figures: Sequence[float], weights: Sequence[float]) -> float:
    return sum(figure * weight for figure, weight in zip(figures, weights, strict=True))


class _Sets:
    """Sums over workloads, by set."""

    def __init__(self, side: Sequence[Collisions], weights: Sequence[float]) -> None:
        of_sets = list(zip(*(each.sets for each in side), strict=True))
        self.lines = [max(one.lines for one in found) for found in of_sets]
        self.fetches = [_weighted([one.fetches for one in found], weights) for found in of_sets]
        self.misses = [_weighted([one.misses for one in found], weights) for found in of_sets]
        self.conflicts = [_weighted([one.conflicts for one in found], weights) for found in of_sets]
        by_function: defaultdict[int, defaultdict[str, float]]
        by_function = defaultdict(lambda: defaultdict(float))
        for each, weight in zip(side, weights, strict=True):
            for address, function, _, misses, _ in each.lines:
                number = address // each.line_bytes % len(of_sets)
                by_function[number][function] += weight * misses
        self.functions = [
            sorted(by_function[number], key=lambda name: (-by_function[number][name], name))
            for number in range(len(of_sets))
        ]


def _set(number: int, base: _Sets, other: _Sets) -> CacheSetView:
    return CacheSetView(
        number=number,
        lines=(base.lines[number], other.lines[number]),
        fetches=(base.fetches[number], other.fetches[number]),
        misses=(base.misses[number], other.misses[number]),
        conflicts=(base.conflicts[number], other.conflicts[number]),
        functions=tuple(other.functions[number][:_NAMED]),
    )


def _pairs(side: Sequence[Collisions], weights: Sequence[float]) -> _Sums:
    """Misses and conflicts by evictor and evicted."""
    found: _Sums = defaultdict(lambda: [0.0, 0.0])
    for each, weight in zip(side, weights, strict=True):
        for names, (misses, conflicts) in each.pairs.items():
            found[names][0] += weight * misses
            found[names][1] += weight * conflicts
    return found


def _most(base: _Sums, other: _Sums) -> tuple[CollidingPairView, ...]:
    none = [0.0, 0.0]
    both = {names: (base.get(names, none), other.get(names, none)) for names in base.keys() | other}

    def most(figure: int) -> list[tuple[str, str]]:
        largest = {names: max(side[figure] for side in pair) for names, pair in both.items()}
        found = (names for names in both if largest[names])
        return sorted(found, key=lambda names: (-largest[names], names))

    by_misses, by_conflicts = most(0), most(1)
    told = {*by_misses[:PAIRS], *by_conflicts[:PAIRS]}
    return tuple(
        CollidingPairView(
            evictor=evictor,
            evicted=evicted,
            misses=(before[0], after[0]),
            conflicts=(before[1], after[1]),
        )
        for evictor, evicted in by_misses
        if (evictor, evicted) in told
        for before, after in [both[evictor, evicted]]
    )
