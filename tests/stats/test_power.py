# SPDX-License-Identifier: GPL-2.0-or-later
"""The power of t-tests far away from where scipy's noncentral t is at its best."""

import pytest
import scipy

from kernsmith.stats.power import exact_n, needed_n, power_of


def test_a_shift_far_above_the_critical_value_needs_no_distribution(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(scipy.stats.nct, "sf", None)
    assert power_of(0.00995, 3.5e-7, 12) == 1.0


@pytest.mark.parametrize("n", [2, 3, 30])
def test_nearer_it_is_the_noncentral_t_also_with_few_values(n: int) -> None:
    critical = scipy.stats.t.isf(0.025, 2 * (n - 1))
    shift = critical * 3
    expected = scipy.stats.nct.sf(critical, 2 * (n - 1), shift)
    assert power_of(shift / (n / 2) ** 0.5, 1.0, n) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize("difference", [1.2, 1.5, 2.0, 3.0, 4.0, 6.0, 12.0])
def test_one_value_fewer_is_not_enough(difference: float, paired: bool) -> None:
    for goal in (0.8, 0.9, 0.99):
        n = needed_n(difference, 1.0, goal, paired=paired)
        assert n is not None
        assert power_of(difference, 1.0, n, paired=paired) >= goal - 1e-9
        assert n == 2 or power_of(difference, 1.0, n - 1, paired=paired) < goal
        exact = exact_n(difference, 1.0, goal, paired=paired)
        assert n - 1 < exact <= n
