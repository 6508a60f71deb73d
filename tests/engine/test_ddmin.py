# SPDX-License-Identifier: GPL-2.0-or-later
"""Delta debugging over numbers: which of them make a set bad is known."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernsmith.engine.ddmin import ddmin


class Oracle:
    """A set is bad that has all of these numbers. Counts the sets that it is asked about."""

    def __init__(self, *culprits: int) -> None:
        self.culprits = set(culprits)
        self.asked = 0

    def first_bad(self, parts: Sequence[tuple[int, ...]]) -> int | None:
        for place, part in enumerate(parts):
            self.asked += 1
            if self.culprits <= set(part):
                return place
        return None


@pytest.mark.parametrize("parts", [2, 3])
def test_one_among_1800_takes_at_most_22_tests(parts: int) -> None:
    """With those of the good and the bad kernel: within the 25 that docs/blame.md promises."""
    most = 0
    for culprit in range(0, 1800, 7):
        oracle = Oracle(culprit)
        assert ddmin(range(1800), oracle.first_bad, parts=parts) == (culprit,)
        most = max(most, oracle.asked)
    assert most <= 22


@given(
    st.integers(1, 60).flatmap(
        lambda n: st.tuples(st.just(n), st.sets(st.integers(0, n - 1), min_size=1, max_size=5))
    )
)
def test_several_that_are_bad_together_are_found_and_nothing_else(
    case: tuple[int, set[int]],
) -> None:
    count, culprits = case
    for parts in (2, 3):
        found = ddmin(range(count), Oracle(*culprits).first_bad, parts=parts)
        assert found == tuple(sorted(culprits))


def test_of_two_that_are_bad_each_one_is_found() -> None:
    def first_bad(parts: Sequence[tuple[int, ...]]) -> int | None:
        return next((n for n, part in enumerate(parts) if 3 in part or 90 in part), None)

    assert ddmin(range(100), first_bad) in ((3,), (90,))


def test_what_is_left_is_told_and_never_grows() -> None:
    told: list[int] = []
    ddmin(range(64), Oracle(5, 60).first_bad, told.append)
    assert told == sorted(told, reverse=True)
    assert told[-1] == 2


def test_one_suspect_needs_no_test() -> None:
    oracle = Oracle(0)
    assert ddmin([0], oracle.first_bad) == (0,)
    assert oracle.asked == 0
