# SPDX-License-Identifier: GPL-2.0-or-later
"""What collides in the instruction cache: two kernels over several workloads."""

from dataclasses import replace

import pytest

from kernsmith.engine.collisions import PAIRS, collisions_view
from kernsmith.engine.function_costs import Collisions, SetCounts

_SETS = (SetCounts(9, 900, 90, 60), SetCounts(2, 100, 10, 0))
ONE = Collisions(
    ways=8,
    line_bytes=64,
    first=7,
    sets=_SETS,
    pairs={("", "read"): (70, 50), ("write", "read"): (23, 10)},
    lines=((64, "read", 100, 10, 0), (128, "read", 500, 60, 50), (256, "write", 400, 30, 10)),
)
NONE = replace(ONE, first=0, sets=(SetCounts(0, 0, 0, 0),) * 2, pairs={}, lines=())


def test_misses_are_told_by_pair_and_set() -> None:
    found = collisions_view([ONE], [NONE], [10.0])
    assert (found.ways, found.line_bytes) == (8, 64)
    assert (found.misses, found.first, found.conflicts) == ((1000, 0), (70, 0), (600, 0))
    of_pairs = [(each.evictor, each.evicted, each.misses, each.conflicts) for each in found.pairs]
    assert of_pairs == [("", "read", (700, 0), (500, 0)), ("write", "read", (230, 0), (100, 0))]
    assert sum(each.misses[0] for each in found.pairs) + found.first[0] == found.misses[0]
    assert [each.lines for each in found.sets] == [(9, 0), (2, 0)]


def test_workloads_are_weighed_and_a_set_is_as_full_as_its_fullest() -> None:
    small = replace(ONE, sets=(SetCounts(4, 10, 1, 1), SetCounts(3, 10, 1, 0)))
    found = collisions_view([ONE, small], [small, ONE], [1.0, 100.0])
    first, second = found.sets
    assert first.misses == pytest.approx((90 + 100, 1 + 9000))
    assert (first.lines, second.lines) == ((9, 9), (3, 3))
    # Lines 2 and 4 lie in the first set.
    assert first.functions == ("read", "write")
    assert second.functions == ("read",)


def test_the_pairs_with_the_most_misses_in_either_kernel() -> None:
    count = 3 * PAIRS
    many = {(f"f{number:03}", "read"): (number, 0 < number < 9) for number in range(count)}
    found = collisions_view([replace(ONE, pairs=many)], [replace(ONE, pairs={})], [1.0])
    assert found.pairs[0].evictor == f"f{count - 1:03}"
    # Those with conflicts are told, too, however few misses they have, but some.
    assert [each.evictor for each in found.pairs[-8:]] == [f"f{n:03}" for n in range(8, 0, -1)]
    assert len(found.pairs) == PAIRS + 8
    turned = collisions_view([replace(ONE, pairs={})], [replace(ONE, pairs=many)], [1.0])
    assert [each.evictor for each in turned.pairs] == [each.evictor for each in found.pairs]
