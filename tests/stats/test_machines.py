# SPDX-License-Identifier: GPL-2.0-or-later
"""What two machines say of the same kernels: made-up figures whose differences are known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from kernsmith.stats.machines import (
    Side,
    compare_machines,
    rank_interval,
    rank_layouts,
    rank_workloads,
    side_of,
)
from kernsmith.stats.observations import Observation

VARIANTS, WORKLOADS = ("base", "new"), ("pipe", "file", "fork")
LAYOUTS = 12


def side(
    gain: float,
    layouts: np.ndarray,
    *,
    unit: float,
    noise: float = 0.0,
    runs: int = 1,
    seed: int = 1,
    own: float = 0.0,
) -> Side:
    """A machine on which `new` takes `gain` of `base`, and layouts of both differ by e**layouts.

    unit: of its figures. own: what a workload gains more than the one before it.
    """
    random = np.random.default_rng(seed)
    rows = [
        Observation(
            variant, f"l{number}", workload, f"{variant} {number}", run, number + 1, "m",
            unit
            * (gain * (1 + own * place) if variant == "new" else 1.0)
            * float(np.exp(layout + noise * random.normal())),
        )
        for number, layout in enumerate(layouts)
        for variant in VARIANTS
        for place, workload in enumerate(WORKLOADS)
        for run in range(runs)
    ]  # fmt: skip
    return Side(tuple(rows), exact=not noise)


@pytest.fixture
def layouts() -> np.ndarray:
    return np.random.default_rng(7).normal(0, 0.02, LAYOUTS)


def test_machines_that_say_the_same_do_not_differ_whatever_their_units(layouts: np.ndarray) -> None:
    first = side(0.9, layouts, unit=1e6)
    second = side(0.9, layouts, unit=0.05, noise=0.005, runs=4)
    found = compare_machines(first, second, VARIANTS, WORKLOADS, 0.05)
    assert [each.workload for each in found] == ["overall", *WORKLOADS]
    for each in found:
        assert each.effect.ratio == pytest.approx(1, abs=0.01)
        assert each.effect.n == LAYOUTS
        assert not each.disagree


def test_a_machine_on_which_a_change_gains_less_is_told_with_by_how_much(
    layouts: np.ndarray,
) -> None:
    first = side(0.80, layouts, unit=1e6)
    second = side(0.88, layouts, unit=0.05, noise=0.005, runs=4)
    overall = compare_machines(first, second, VARIANTS, WORKLOADS, 0.05)[0]
    assert overall.effect.ratio == pytest.approx(1.1, abs=0.01)
    assert overall.effect.ci is not None
    assert overall.effect.ci[0] < 1.1 < overall.effect.ci[1]
    assert overall.disagree


def test_the_share_of_false_alarms_is_what_was_asked_for() -> None:
    """Of 200 pairs of machines that agree, 5 % at most differ somewhere, within two standard
    errors: all that is compared is one family."""
    random = np.random.default_rng(3)
    alarms = 0
    for seed in range(200):
        drawn = random.normal(0, 0.02, 6)
        first = side(0.9, drawn, unit=1.0, noise=0.01, seed=2 * seed)
        second = side(0.9, drawn, unit=2.0, noise=0.01, seed=2 * seed + 1)
        found = compare_machines(first, second, VARIANTS, WORKLOADS, 0.05)
        alarms += any(each.disagree for each in found)
    assert alarms <= 10 + 2 * (200 * 0.05 * 0.95) ** 0.5


def test_layouts_of_variants_that_drew_their_own_are_compared_all_the_same(
    layouts: np.ndarray,
) -> None:
    def drawn(one: Side) -> Side:
        rows = (
            Observation(**{**vars(row), "layout": f"{row.variant}.{row.layout}"})
            for row in one.rows
        )
        return Side(tuple(rows), one.exact)

    first, second = side(0.9, layouts, unit=1.0), side(0.95, layouts, unit=3.0, noise=0.003)
    overall = compare_machines(drawn(first), drawn(second), VARIANTS, WORKLOADS, 0.05)[0]
    assert not overall.effect.paired
    assert overall.effect.ratio == pytest.approx(0.95 / 0.9, abs=0.01)


def test_one_layout_has_a_ratio_and_no_interval() -> None:
    def default(one: Side) -> Side:
        rows = (Observation(**{**vars(row), "layout": "default"}) for row in one.rows)
        return Side(tuple(rows), one.exact)

    single = np.zeros(1)
    first, second = (default(side(gain, single, unit=1.0)) for gain in (0.8, 0.9))
    overall = compare_machines(first, second, VARIANTS, WORKLOADS, 0.05)[0]
    assert overall.effect.ratio == pytest.approx(0.9 / 0.8)
    assert overall.effect.ci is None
    assert not overall.disagree


def test_layouts_are_ranked_beside_what_noise_allows(layouts: np.ndarray) -> None:
    first = side(0.9, layouts, unit=1e6)
    (base, new) = rank_layouts(first, side(0.9, layouts, unit=1.0), VARIANTS, WORKLOADS, 0.05)
    assert (base.correlation, base.allowed, base.n) == (1.0, 1.0, LAYOUTS)
    assert (base.variant, new.variant) == VARIANTS
    noisy = side(0.9, layouts, unit=1.0, noise=0.05, runs=4, seed=5)
    (ranked, _) = rank_layouts(first, noisy, VARIANTS, WORKLOADS, 0.05)
    assert ranked.allowed is not None
    assert 0 <= ranked.allowed < 1
    assert ranked.correlation < 1
    assert ranked.ci is not None and ranked.ci[0] < ranked.correlation < ranked.ci[1]
    single = side(0.9, layouts, unit=1.0, noise=0.05, seed=5)
    assert rank_layouts(first, single, VARIANTS, WORKLOADS, 0.05)[0].allowed is None


def test_two_layouts_have_no_order_worth_telling(layouts: np.ndarray) -> None:
    few = side(0.9, layouts[:2], unit=1.0)
    assert rank_layouts(few, few, VARIANTS, WORKLOADS, 0.05) == ()


def test_workloads_are_ranked_by_what_they_gain() -> None:
    first = {"a": 0.9, "b": 0.8, "c": 1.1, "d": 1.0}
    second = {"a": 0.95, "b": 0.99, "c": 1.2, "d": 1.0, "e": 0.5}
    found = rank_workloads(first, second, "new", 0.05)
    assert found is not None
    expected = spearmanr([0.9, 0.8, 1.1, 1.0], [0.95, 0.99, 1.2, 1.0]).statistic
    assert found.correlation == pytest.approx(expected)
    assert (found.n, found.ci) == (4, None)
    assert rank_workloads({"a": 1.0, "b": 2.0}, second, "new", 0.05) is None


def test_the_interval_of_a_rank_correlation_covers_it() -> None:
    """Of 400 samples of 20 from a normal distribution whose rank correlation is known (that of
    Pearson's ρ, 6/π asin(ρ/2)), 93 % at least have it in their interval."""
    random = np.random.default_rng(11)
    rho = 0.6
    true = 6 / np.pi * np.arcsin(rho / 2)
    covered = 0
    for _ in range(400):
        x = random.normal(size=20)
        y = rho * x + np.sqrt(1 - rho**2) * random.normal(size=20)
        interval = rank_interval(float(spearmanr(x, y).statistic), 20, 0.05)
        assert interval is not None
        covered += interval[0] <= true <= interval[1]
    assert covered >= 0.93 * 400


def test_figures_that_are_zero_are_not_compared() -> None:
    row = Observation("base", "l1", "pipe", "b", 0, 1, "m", 0.0)
    assert side_of([row], "m", exact=True) is None
    assert side_of([row], "other", exact=True) is None
