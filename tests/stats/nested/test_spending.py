# SPDX-License-Identifier: GPL-2.0-or-later
"""What a pilot's components and the costs of layouts, boots and runs make one spend."""

from itertools import product
from math import sqrt

import pytest
from scipy import stats

from kernsmith.stats.components import Component
from kernsmith.stats.nested import Costs, Goal, Spending, spend
from kernsmith.stats.power import power_of

PILOT = (4, 5)
"""Boots a layout and runs a boot."""


def components(layout: float, boot: float, run: float, df: int = 10**9) -> list[Component]:
    """Of these standard deviations, as if they had been seen by so many degrees of freedom."""
    variances = {"layout": layout**2, "boot": boot**2, "run": run**2}
    total = sum(variances.values())
    return [Component(name, v, v / total, df, df) for name, v in variances.items()]


def planned(parts: list[Component], goal: Goal, costs: Costs | None = None) -> Spending:
    found = spend(parts, PILOT, goal, costs, confidence=0.5)
    assert found is not None
    return found


def test_the_numbers_are_those_of_kalibera_and_jones() -> None:
    """r = √(cB/cR σ²R/σ²B) = √(20 · 4) = 8.9; b = √(cL/cB σ²B/σ²L) = √(9/20 · 9) = 2.0."""
    found = planned(components(0.001, 0.003, 0.006), Goal(0.1))
    assert found.boots == 2
    assert found.runs == pytest.approx(sqrt(20 * 4), abs=1)


def test_no_other_design_is_cheaper() -> None:
    """But for the large numbers of runs, of which not every one is looked at."""
    parts, costs, goal = components(0.004, 0.003, 0.006), Costs(9.0, 20.0, 1.0), Goal(0.5)
    found = planned(parts, goal, costs)
    for layouts, boots, runs in product(range(2, 60), range(1, 6), range(1, 25)):
        variance = 0.004**2 + 0.003**2 / boots + 0.006**2 / (boots * runs)
        half = stats.t.isf(0.025, layouts - 1) * sqrt(2 * variance / layouts)
        if 2 * half <= 0.005:
            assert 2 * costs.of(layouts, boots, runs) >= found.seconds * 0.99


def test_dear_boots_make_more_runs_and_dear_relinks_more_boots() -> None:
    parts, goal = components(0.002, 0.004, 0.006), Goal(0.5)
    usual = planned(parts, goal, Costs(9.0, 20.0, 1.0))
    dear_boots = planned(parts, goal, Costs(9.0, 200.0, 1.0))
    dear_layouts = planned(parts, goal, Costs(900.0, 20.0, 1.0))
    assert dear_boots.runs > usual.runs
    assert dear_layouts.boots > usual.boots
    assert dear_layouts.layouts < usual.layouts


def test_the_power_is_that_of_the_noncentral_t() -> None:
    found = planned(components(0.004, 0.002, 0.003), Goal(0.5, power=0.95))
    change = 0.0049875  # log 1.005
    sd = sqrt(2) * found.sd
    assert power_of(change, sd, found.layouts, paired=True) >= 0.95
    assert power_of(change, sd, found.layouts - 1, paired=True) < 0.95


def test_a_small_pilot_is_trusted_less() -> None:
    few, many = (components(0.004, 0.003, 0.006, df) for df in (3, 10_000))
    careful = spend(few, PILOT, Goal(0.5))
    certain = spend(many, PILOT, Goal(0.5))
    assert careful is not None and certain is not None
    assert careful.seconds > 1.5 * certain.seconds
    assert certain.sd == pytest.approx(planned(many, Goal(0.5)).sd, rel=0.05)


def test_levels_that_a_pilot_cannot_tell_apart_count_as_the_highest() -> None:
    """One run a boot: more runs would be no help that is known of."""
    joined = [Component("layout", 1e-6, 0.1, 9, 10), Component("boot + run", 25e-6, 0.9, 30, 40)]
    found = spend(joined, (4, 1), Goal(0.5))
    assert found is not None
    assert found.runs == 1
    assert found.boots > 1


def test_a_goal_out_of_reach_is_no_plan() -> None:
    assert spend(components(0.5, 0.1, 0.1), PILOT, Goal(0.01)) is None


def test_without_any_variance_two_layouts_are_enough() -> None:
    found = spend([Component("layout + boot + run", 0.0, 0.0, 5, 6)], (1, 1), Goal(0.1))
    assert found == Spending(2, 1, 1, 2 * Costs().of(2, 1, 1), 0.0)


@pytest.mark.parametrize(
    ("percent", "power", "alpha"), [(0.0, None, 0.05), (1.0, 1.0, 0.05), (1.0, 0.9, 1.5)]
)
def test_goals_that_cannot_be(percent: float, power: float | None, alpha: float) -> None:
    with pytest.raises(ValueError):
        Goal(percent, power, alpha)
