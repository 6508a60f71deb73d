# SPDX-License-Identifier: GPL-2.0-or-later
"""What two profiles have in common."""

import pytest

from kernsmith.errors import UserError
from kernsmith.profile import BranchCounts
from kernsmith.profile.overlap import overlap

WHOLE = BranchCounts({(0, 9): 4}, {(9, 0): 3, (5, 0): 1}, "ab")


def test_the_same_in_other_amounts() -> None:
    common = overlap(WHOLE, WHOLE.scaled(10))
    assert (common.code, common.branches) == (1.0, 1.0)


def test_ranges_that_are_cut_elsewhere_are_the_same_code() -> None:
    cut = BranchCounts({(0, 3): 2, (4, 9): 2}, WHOLE.branches, "ab")
    assert overlap(WHOLE, cut).code == pytest.approx(1.0)


def test_the_smaller_share_is_in_common() -> None:
    half = BranchCounts({(0, 4): 7}, {(9, 0): 1, (5, 0): 1}, "ab")
    common = overlap(WHOLE, half)
    # Two of three places beside both of two; three quarters and one beside halves.
    assert (common.code, common.branches) == (pytest.approx(2 / 3), pytest.approx(0.75))
    assert overlap(half, WHOLE) == common


def test_nothing_in_common() -> None:
    other = BranchCounts({(20, 29): 4}, {(9, 1): 3}, "ab")
    common = overlap(WHOLE, other)
    assert (common.code, common.branches) == (0.0, 0.0)


def test_of_other_kernels_or_empty() -> None:
    with pytest.raises(UserError, match="different kernels"):
        overlap(WHOLE, BranchCounts(WHOLE.ranges, WHOLE.branches, "cd"))
    with pytest.raises(UserError, match="empty"):
        overlap(WHOLE, BranchCounts({}, {}, "ab"))
    with pytest.raises(UserError, match="empty"):
        overlap(WHOLE, BranchCounts({(0, 9): 0}, {(9, 0): 0}, "ab"))
