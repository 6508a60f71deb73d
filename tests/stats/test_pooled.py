# SPDX-License-Identifier: GPL-2.0-or-later
"""How far apart values of a group lie by luck."""

from math import sqrt

import numpy as np
import pytest

from kernsmith.stats.pooled import apart_by_luck


def test_two_values_have_one_degree_of_freedom() -> None:
    # Variance 0.5; t of one degree of freedom at 97.5 % is 12.706 (any table of it).
    assert apart_by_luck([[0.0, 1.0]]) == pytest.approx(12.706 * sqrt(2 * 0.5), rel=1e-4)


def test_groups_are_pooled_around_their_own_means() -> None:
    assert apart_by_luck([[0.0, 1.0], [100.0, 101.0]]) == pytest.approx(4.3027, rel=1e-4)
    assert apart_by_luck([[0.0, 1.0], [7.0]]) == apart_by_luck([[0.0, 1.0]])


def test_without_two_values_of_a_group_nothing_is_known() -> None:
    assert apart_by_luck([]) == apart_by_luck([[], [3.0], [9.0]]) == 0


def test_one_difference_in_twenty_is_beyond_it() -> None:
    random = np.random.default_rng(5)
    beyond = 0
    for _ in range(2000):
        groups = random.normal(0, 3, (3, 4)) + random.normal(0, 50, (3, 1))
        one, other = random.normal(0, 3, 2)
        beyond += abs(one - other) > apart_by_luck(list(groups))
    assert beyond / 2000 == pytest.approx(0.05, abs=0.015)
