# SPDX-License-Identifier: GPL-2.0-or-later
"""How alike two profiles of one kernel are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from kernsmith.errors import UserError
from kernsmith.profile.counts import BranchCounts, Pair


@dataclass(frozen=True)
class Overlap:
    """What two profiles have in common, from 0 to 1: of executed code, and of taken branches."""

    code: float
    branches: float


def overlap(first: BranchCounts, second: BranchCounts) -> Overlap:
    """The sum over all counts of the smaller of their two shares: `llvm-profdata overlap`'s measure
    (`OverlapStats::score` of `llvm/lib/ProfileData/InstrProf.cpp`).

    Code is compared byte by byte: exact counts and samples cut the same code into other ranges.

    Raises:
        UserError: profiles of different kernels, or one that is empty.
    """
    if first.build_id != second.build_id:
        raise UserError("profiles of different kernels cannot be compared (their build ids differ)")
    return Overlap(_common_code(first, second), _common(first.branches, second.branches))


def _common(first: Mapping[Pair, int], second: Mapping[Pair, int]) -> float:
    whole = _total(first.values()), _total(second.values())
    both = first.keys() & second.keys()
    return sum(min(first[pair] / whole[0], second[pair] / whole[1]) for pair in both)


def _common_code(first: BranchCounts, second: BranchCounts) -> float:
    whole = _total([first.weight]), _total([second.weight])
    changes: dict[int, list[int]] = {}
    for number, counts in enumerate((first, second)):
        for (start, last), count in counts.ranges.items():
            changes.setdefault(start, [0, 0])[number] += count
            changes.setdefault(last + 1, [0, 0])[number] -= count
    common, levels = 0.0, [0, 0]
    addresses = sorted(changes)
    for address, following in pairwise(addresses):
        levels = [level + change for level, change in zip(levels, changes[address], strict=True)]
        common += (following - address) * min(levels[0] / whole[0], levels[1] / whole[1])
    return common


def _total(counts: Iterable[int]) -> int:
    if total := sum(counts):
        return total
    raise UserError("a profile that is empty cannot be compared")
