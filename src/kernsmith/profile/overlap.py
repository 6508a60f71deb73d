# SPDX-License-Identifier: GPL-2.0-or-later
"""How alike two profiles of one kernel are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from kernsmith.errors import UserError
from kernsmith.profile.counts import BranchCounts

_Key = TypeVar("_Key")


@dataclass(frozen=True)
class Overlap:
    """What two profiles have in common, from 0 to 1: of executed code, and of taken branches."""

    code: float
    branches: float


def overlap(first: BranchCounts, second: BranchCounts) -> Overlap:
    """The sum over all counts of the smaller of their two shares: `llvm-profdata overlap`'s measure
    (`OverlapStats::score` of `llvm/lib/ProfileData/InstrProf.cpp`).

    Exact counts and samples cut the same code into other ranges, so what is compared of code is how
    often each instruction was executed with which a range of either begins or ends.

    Raises:
        UserError: profiles of different kernels, or one that is empty.
    """
    if first.build_id != second.build_id:
        raise UserError("profiles of different kernels cannot be compared (their build ids differ)")
    parts = (first.ranges, second.ranges, first.branches, second.branches)
    if not all(sum(part.values()) for part in parts):
        raise UserError("a profile that is empty cannot be compared")
    points = {address for counts in (first, second) for pair in counts.ranges for address in pair}
    code = _common(*(_executions(counts, sorted(points)) for counts in (first, second)))
    return Overlap(code, _common(first.branches, second.branches))


def _common(first: Mapping[_Key, int], second: Mapping[_Key, int]) -> float:
    whole = sum(first.values()), sum(second.values())
    both = first.keys() & second.keys()
    return sum(min(first[key] / whole[0], second[key] / whole[1]) for key in both)


def _executions(counts: BranchCounts, points: Sequence[int]) -> dict[int, int]:
    """How often the instruction at each of these addresses was executed."""
    begin: Counter[int] = Counter()
    end: Counter[int] = Counter()
    for (start, last), count in counts.ranges.items():
        begin[start] += count
        end[last] += count
    executed, level = {}, 0
    for point in points:
        level += begin[point]
        executed[point] = level
        level -= end[point]
    return executed
