# SPDX-License-Identifier: GPL-2.0-or-later
"""Hodges and Lehmann's estimate, against R and against its definition."""

from itertools import combinations
from math import exp

import numpy as np
import pytest
from scipy import stats

from kernsmith.stats.nested.robust import _mann_whitney, _signed_rank, robust_shift


def test_depression_scores_of_hollander_and_wolfe() -> None:
    """Their example 3.1 and R's ?wilcox.test: estimate -0.46, 95 % interval -0.786 … -0.010."""
    before = np.array([1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30])
    after = np.array([0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29])
    found = robust_shift(before, after, paired=True)
    assert np.log(found.ratio) == pytest.approx(-0.46, abs=0.001)
    assert found.ci is not None
    assert np.log(found.ci) == pytest.approx([-0.786, -0.010], abs=0.001)


def test_permeability_of_hollander_and_wolfe() -> None:
    """Their example 4.1 and R's ?wilcox.test: estimate of x - y is -0.305, W's 95 % interval is
    -0.76 … 0.15."""
    x = np.array([0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46])
    y = np.array([1.15, 0.88, 0.90, 0.74, 1.21])
    found = robust_shift(x, y, paired=False)
    assert np.log(found.ratio) == pytest.approx(-0.305, abs=0.001)
    assert found.ci is not None
    assert np.log(found.ci) == pytest.approx([-0.76, 0.15], abs=0.001)


@pytest.mark.parametrize("n", [1, 4, 9])
def test_the_signed_ranks_distribution_is_that_of_all_signs(n: int) -> None:
    sums = [sum(chosen) for k in range(n + 1) for chosen in combinations(range(1, n + 1), k)]
    counts = np.bincount(sums) / 2**n
    assert _signed_rank(n) == pytest.approx(counts.tolist())


@pytest.mark.parametrize(("m", "n"), [(2, 3), (5, 4), (7, 7)])
def test_mann_whitneys_distribution_is_that_of_all_orders(m: int, n: int) -> None:
    sums = [
        sum(place - rank for rank, place in enumerate(chosen))
        for chosen in combinations(range(m + n), m)
    ]
    counts = np.bincount(sums) / len(sums)
    assert _mann_whitney(m, n) == pytest.approx(counts.tolist())


def test_five_pairs_are_too_few_for_95_per_cent() -> None:
    logs = np.arange(5.0)
    assert robust_shift(logs, logs + 1, paired=True).ci is None
    assert robust_shift(logs, logs + 1, paired=True, alpha=0.1).ci == pytest.approx(
        (exp(1), exp(1))
    )


def test_a_wild_value_does_not_move_it_and_moves_the_mean() -> None:
    random = np.random.default_rng(2)
    old, new = random.normal(0, 0.01, 12), random.normal(0, 0.01, 12)
    new[3] += 2.0
    assert robust_shift(old, new, paired=True).ratio == pytest.approx(1.0, abs=0.02)
    assert exp((new - old).mean()) > 1.1


def test_many_units_take_the_normal_approximation() -> None:
    random = np.random.default_rng(3)
    old, new = random.normal(0, 1, 60), random.normal(0.5, 1, 60)
    for paired in (True, False):
        ci = robust_shift(old, new, paired=paired).ci
        assert ci is not None
        t = stats.ttest_rel(new, old) if paired else stats.ttest_ind(new, old)
        low, high = t.confidence_interval(0.95)
        assert np.log(ci) == pytest.approx([low, high], abs=0.1)
