# SPDX-License-Identifier: GPL-2.0-or-later
"""Sections of one priority come in the order in which lld's sorting leaves them."""

import pytest

from kernsmith.layout.linker_sort import sorted_by_linker


@pytest.mark.parametrize(
    ("count", "first", "digest"),
    [
        (10, [0, 6, 5, 4, 3, 9, 2, 8, 1, 7], 553539569),
        (100, [0, 79, 13, 46, 92, 59, 26, 72, 39, 6], 746597468),
        (1000, [0, 244, 732, 976, 488, 211, 178, 699, 943, 455], 263458933),
    ],
)
def test_equal_ones_lie_as_libstdcxx_leaves_them(count: int, first: list[int], digest: int) -> None:
    """Golden: a C++ program with std::sort of g++ 12.2 on pairs of number and i * 7919 % 1009 / 5,
    compared by the latter."""
    keys = [i * 7919 % 1009 // 5 for i in range(count)]
    found = sorted_by_linker(keys)
    assert found[:10] == first
    folded = 0
    for place in found:
        folded = (folded * 31 + place) % 1_000_000_007
    assert folded == digest
    assert [keys[place] for place in found] == sorted(keys)


def test_nothing_to_sort() -> None:
    assert sorted_by_linker([]) == []
    assert sorted_by_linker([3]) == [0]
