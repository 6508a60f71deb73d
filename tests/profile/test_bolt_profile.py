# SPDX-License-Identifier: GPL-2.0-or-later
"""Counts as BOLT reads them."""

from pathlib import Path

import pytest

from kernsmith.errors import UserError
from kernsmith.kernel.toolchain import find_toolchain
from kernsmith.profile import BranchCounts, find_profile_maker
from kernsmith.profile.bolt import aggregated


def lines(counts: BranchCounts) -> list[str]:
    return aggregated(counts).splitlines()


def test_branches_and_stretches() -> None:
    counts = BranchCounts({(0x100, 0x110): 5}, {(0x110, 0x200): 5, (0x90, 0x100): 5})
    assert lines(counts) == ["B 90 100 5 0", "B 110 200 5 0", "F 100 110 5"]


def test_what_goes_on_behind_a_branch_is_a_stretch_of_its_own() -> None:
    """A branch at 0x110 is taken twice of five times; two ranges end with it."""
    ranges = {(0x100, 0x110): 4, (0x108, 0x110): 1, (0x112, 0x120): 3}
    counts = BranchCounts(ranges, {(0x110, 0x180): 2})
    assert "F 110 112 3" in lines(counts)
    assert len(lines(counts)) == 5


@pytest.mark.parametrize("start", [0x120, 0x110])
def test_nothing_goes_on_to_what_is_not_next(start: int) -> None:
    """No instruction is longer than 15 bytes."""
    counts = BranchCounts({(0x100, 0x110): 4, (start, 0x130): 4}, {})
    assert not [line for line in lines(counts) if line.startswith("F 110 ") and "130" not in line]


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "x.afdo"
    other.write_bytes(b"nothing")
    with pytest.raises(UserError, match=r"is no profile for BOLT: allowed are counts and \.fdata"):
        find_profile_maker("bolt").usable((other,), None, find_toolchain(), tmp_path / "x")  # type: ignore[arg-type]
