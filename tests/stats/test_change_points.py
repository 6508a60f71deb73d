# SPDX-License-Identifier: GPL-2.0-or-later
"""Shifts are found where they are, and none where there is none but luck of layout."""

from __future__ import annotations

import numpy as np
import pytest

from kernsmith.stats.change_points import find_change_points

PLACES, LAYOUTS = 20, 16


def sequence(
    draw: np.random.Generator, change_points: dict[int, float], luck: float = 0.005
) -> np.ndarray:
    """Logarithms (layouts, places): luck of each layout, and of each layout of each kernel."""
    mean = np.zeros(PLACES)
    for at, size in change_points.items():
        mean[at:] += size
    own = draw.normal(0, 0.02, (LAYOUTS, 1))
    return np.asarray(own + mean + draw.normal(0, luck, (LAYOUTS, PLACES)))


def test_luck_of_layout_is_found_as_a_shift_at_most_as_often_as_alpha_says() -> None:
    """600 sequences in which nothing changes; 5 % are 30, and 45 are three deviations above."""
    draw = np.random.default_rng(1)
    assert sum(bool(find_change_points(sequence(draw, {}))) for _ in range(600)) <= 45


def test_a_shift_is_found_at_its_place_with_its_size() -> None:
    draw = np.random.default_rng(2)
    found = [find_change_points(sequence(draw, {12: 0.01})) for _ in range(100)]
    whole = [each[0] for each in found if [change_point.at for change_point in each] == [12]]
    assert len(whole) >= 95
    covered = 0
    for change_point in whole:
        assert change_point.effect.ci is not None
        covered += change_point.effect.ci[0] < np.exp(0.01) < change_point.effect.ci[1]
    assert covered >= 0.95 * len(whole)


def test_two_shifts_and_one_that_lasts_for_one_kernel_only() -> None:
    draw = np.random.default_rng(3)
    found = find_change_points(sequence(draw, {5: 0.02, 6: -0.02, 14: -0.015}))
    assert [change_point.at for change_point in found] == [5, 6, 14]
    assert [change_point.effect.ratio > 1 for change_point in found] == [True, False, False]


def test_equal_kernels_are_exactly_equal_and_a_change_of_exact_counts_is_found() -> None:
    same = np.tile(np.linspace(0, 0.1, LAYOUTS)[:, None], (1, PLACES))
    assert find_change_points(same) == ()
    same[:, 7:] += 0.003
    (change_point,) = find_change_points(same)
    assert change_point.at == 7
    assert change_point.effect.ratio == pytest.approx(np.exp(0.003))
    # One unused function more: some instructions, in all layouts.
    same[:, 12:] += 5e-6
    assert [each.at for each in find_change_points(same)] == [7]


def test_more_sequences_need_more_evidence() -> None:
    draw = np.random.default_rng(4)
    found = dict.fromkeys((1, 100000), 0)
    for _ in range(40):
        logs = sequence(draw, {10: 0.004})
        for count in found:
            found[count] += bool(find_change_points(logs, sequences=count))
    assert found[1] > found[100_000]


def test_one_layout_tells_nothing_and_one_kernel_has_no_neighbour() -> None:
    with pytest.raises(ValueError, match="at least two layouts"):
        find_change_points(np.zeros((1, 5)))
    assert find_change_points(np.zeros((4, 1))) == ()


def test_half_a_per_cent_is_found_beside_half_a_per_cent_of_luck() -> None:
    """How many of 100 are found, and how many at their very place: docs/watch.md has both."""
    draw = np.random.default_rng(5)
    counted = {}
    for size in (0.01, 0.005, 0.003):
        found = [find_change_points(sequence(draw, {12: size})) for _ in range(100)]
        places = [[each.at for each in one] for one in found]
        counted[size] = (sum(map(bool, places)), sum(one == [12] for one in places))
    for size, found_at_least, there_at_least in ((0.01, 99, 95), (0.005, 99, 80), (0.003, 90, 60)):
        anywhere, there = counted[size]
        assert anywhere >= found_at_least, counted
        assert there >= there_at_least, counted
