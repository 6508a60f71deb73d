# SPDX-License-Identifier: GPL-2.0-or-later
"""Shifts are found where they are, and none where there is none but luck of layout."""

from __future__ import annotations

import numpy as np
import pytest

from kernsmith.stats.shifts import find_shifts

PLACES, LAYOUTS = 20, 16


def sequence(
    draw: np.random.Generator, shifts: dict[int, float], luck: float = 0.005
) -> np.ndarray:
    """Logarithms (layouts, places): luck of each layout, and of each layout of each kernel."""
    mean = np.zeros(PLACES)
    for at, size in shifts.items():
        mean[at:] += size
    own = draw.normal(0, 0.02, (LAYOUTS, 1))
    return np.asarray(own + mean + draw.normal(0, luck, (LAYOUTS, PLACES)))


def test_luck_of_layout_is_found_as_a_shift_at_most_as_often_as_alpha_says() -> None:
    """600 sequences in which nothing changes; 5 % are 30, and 45 are three deviations above."""
    draw = np.random.default_rng(1)
    assert sum(bool(find_shifts(sequence(draw, {}))) for _ in range(600)) <= 45


def test_a_shift_is_found_at_its_place_with_its_size() -> None:
    draw = np.random.default_rng(2)
    found = [find_shifts(sequence(draw, {12: 0.01})) for _ in range(100)]
    whole = [each[0] for each in found if [shift.at for shift in each] == [12]]
    assert len(whole) >= 95
    covered = 0
    for shift in whole:
        assert shift.effect.ci is not None
        covered += shift.effect.ci[0] < np.exp(0.01) < shift.effect.ci[1]
    assert covered >= 0.95 * len(whole)


def test_two_shifts_and_one_that_lasts_for_one_kernel_only() -> None:
    draw = np.random.default_rng(3)
    found = find_shifts(sequence(draw, {5: 0.02, 6: -0.02, 14: -0.015}))
    assert [shift.at for shift in found] == [5, 6, 14]
    assert [shift.effect.ratio > 1 for shift in found] == [True, False, False]


def test_equal_kernels_are_exactly_equal_and_a_change_of_exact_counts_is_found() -> None:
    same = np.tile(np.linspace(0, 0.1, LAYOUTS)[:, None], (1, PLACES))
    assert find_shifts(same) == ()
    same[:, 7:] += 0.003
    (shift,) = find_shifts(same)
    assert shift.at == 7
    assert shift.effect.ratio == pytest.approx(np.exp(0.003))
    # One unused function more: some instructions, in all layouts.
    same[:, 12:] += 5e-6
    assert [each.at for each in find_shifts(same)] == [7]


def test_more_sequences_need_more_evidence() -> None:
    draw = np.random.default_rng(4)
    found = dict.fromkeys((1, 100000), 0)
    for _ in range(40):
        logs = sequence(draw, {10: 0.004})
        for count in found:
            found[count] += bool(find_shifts(logs, sequences=count))
    assert found[1] > found[100_000]


def test_one_layout_tells_nothing_and_one_kernel_has_no_neighbour() -> None:
    with pytest.raises(ValueError, match="at least two layouts"):
        find_shifts(np.zeros((1, 5)))
    assert find_shifts(np.zeros((4, 1))) == ()
