# SPDX-License-Identifier: GPL-2.0-or-later
"""How many layouts are measured before a study is decided."""

import pytest

from kernsmith.engine.growth import grow, next_number, next_of_replayed


def decided_at(enough: int, first: int = 8, most: int = 64) -> list[int]:
    """The numbers of layouts that are measured when `enough` of them decide."""
    measured: list[int] = []

    def measure(layouts: int) -> int:
        measured.append(layouts)
        return layouts

    answer = grow(
        first, most, measure, lambda n, last: n if n >= enough or last else None, next_number
    )
    assert answer == measured[-1]
    return measured


def test_half_as_many_more_each_time() -> None:
    assert decided_at(8) == [8]
    assert decided_at(9) == [8, 12]
    assert decided_at(30) == [8, 12, 18, 27, 40]
    assert [next_number(n, 64) for n in (0, 1, 2, 4)] == [2, 3, 4, 6]


def test_the_limit_ends_it() -> None:
    assert decided_at(1000) == [8, 12, 18, 27, 40, 60, 64]
    assert decided_at(1000, first=70) == [70]


def test_an_answer_that_never_comes_is_an_error_and_not_a_loop() -> None:
    with pytest.raises(ValueError, match="no answer after 12 layouts"):
        grow(8, 12, lambda layouts: layouts, lambda n, last: None, next_number)


def test_replayed_layouts_are_doubled() -> None:
    assert [next_of_replayed(n, 512) for n in (0, 1, 8, 64, 300)] == [2, 3, 16, 128, 512]
