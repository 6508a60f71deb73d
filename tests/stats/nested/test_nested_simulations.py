# SPDX-License-Identifier: GPL-2.0-or-later
"""The nested design on thousands of simulated studies with fixed seeds.

Seconds of a kernel: layouts scatter by 0.5 %, boots by 0.3 %, runs by 0.4 %.
"""

from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from kernsmith.stats.components import Component, variance_components
from kernsmith.stats.nested import Costs, Goal, Spending, Timing, nested_effect, spend
from kernsmith.stats.nested.robust import robust_shift
from kernsmith.stats.sequential import PRIOR, _log_martingale, decide

LAYOUT_SD, BOOT_SD, RUN_SD = 0.005, 0.003, 0.004
PILOT = (5, 3, 5)
"""Layouts a variant, boots a layout, runs a boot."""
GOAL = Goal(0.5, power=0.95)
Array = NDArray[np.float64]


def simulate(
    random: np.random.Generator, shape: tuple[int, int, int, int], shift: float = 0.0
) -> Array:
    """Log times of (study, layout, boot, run)."""
    studies, layouts, boots, _ = shape
    layout = random.normal(0, LAYOUT_SD, (studies, layouts, 1, 1))
    boot = random.normal(0, BOOT_SD, (studies, layouts, boots, 1))
    return np.asarray(shift + layout + boot + random.normal(0, RUN_SD, shape))


def t_tests(old: Array, new: Array) -> tuple[Array, Array, Array]:
    """p, and the interval of the shift, of the unit means of each study."""
    found = stats.ttest_ind(new, old, axis=1, equal_var=False)
    interval = found.confidence_interval(0.95)
    return found.pvalue, interval.low, interval.high


def timings(variant: str, logs: Array) -> list[Timing]:
    """The runs of one study; layouts of the two variants have nothing in common."""
    return [
        Timing(variant, f"{variant}{place[0]}", f"{place[1]}", f"{place[2]}", float(np.exp(x)), n)
        for n, (place, x) in enumerate(np.ndenumerate(logs))
    ]


def components_of(old: Array, new: Array) -> tuple[Component, ...]:
    rows = [*timings("old", old), *timings("new", new)]
    return variance_components(
        [row.value for row in rows],
        [row.variant for row in rows],
        [row.layout for row in rows],
        [row.boot for row in rows],
    )


def test_the_effect_of_a_study_is_what_the_simulations_judge_by() -> None:
    random = np.random.default_rng(1)
    old, new = (simulate(random, (20, 6, 2, 3), shift) for shift in (0.0, 0.01))
    p, low, high = t_tests(old.mean(axis=(2, 3)), new.mean(axis=(2, 3)))
    for study in range(20):
        rows = [*timings("old", old[study]), *timings("new", new[study])]
        effect = nested_effect(rows, "old", "new").effect
        assert effect.p == pytest.approx(p[study])
        assert effect.ci == pytest.approx((np.exp(low[study]), np.exp(high[study])))


@pytest.mark.parametrize("shape", [(4, 1, 1), (6, 3, 4), (12, 2, 10)])
def test_nothing_is_found_where_nothing_is(shape: tuple[int, int, int]) -> None:
    random = np.random.default_rng(2)
    old, new = (simulate(random, (20_000, *shape)).mean(axis=(2, 3)) for _ in range(2))
    p, *_ = t_tests(old, new)
    assert 0.04 <= np.mean(p < 0.05) <= 0.06


@pytest.mark.parametrize("shape", [(4, 1, 1), (6, 3, 4), (12, 2, 10)])
def test_95_per_cent_intervals_hold_the_truth(shape: tuple[int, int, int]) -> None:
    random, truth = np.random.default_rng(3), float(np.log(0.99))
    old, new = (
        simulate(random, (20_000, *shape), shift).mean(axis=(2, 3)) for shift in (0.0, truth)
    )
    _, low, high = t_tests(old, new)
    assert 0.94 <= np.mean((low <= truth) & (truth <= high)) <= 0.96


def test_boots_as_units_find_layouts_where_nothing_is() -> None:
    """Two kernels of one layout each, however often they are booted: the units say what of."""
    random = np.random.default_rng(4)
    old, new = (simulate(random, (4000, 1, 10, 5)).mean(axis=3)[:, 0] for _ in range(2))
    p, *_ = t_tests(old, new)
    assert np.mean(p < 0.05) > 0.5


@cache
def plans() -> tuple[tuple[Spending, ...], Spending]:
    """Of 300 pilots; and of one who knows the components."""
    random = np.random.default_rng(5)
    found = []
    old, new = (simulate(random, (300, *PILOT)) for _ in range(2))
    for study in range(len(old)):
        plan = spend(components_of(old[study], new[study]), PILOT[1:], GOAL)
        assert plan is not None
        found.append(plan)
    squares = {"layout": LAYOUT_SD**2, "boot": BOOT_SD**2, "run": RUN_SD**2}
    known = [Component(name, square, 0.0, 10**9, 10**9) for name, square in squares.items()]
    best = spend(known, PILOT[1:], GOAL, confidence=0.5)
    assert best is not None
    return tuple(found), best


def test_a_true_change_of_half_a_per_cent_is_found_within_the_planned_cost() -> None:
    """In 95 % of studies that are planned by a pilot of their own and spend what was planned."""
    random, truth = np.random.default_rng(6), float(np.log1p(0.005))
    found, spent = [], []
    for plan in plans()[0]:
        shape = (20, plan.layouts, plan.boots, plan.runs)
        old, new = (simulate(random, shape, shift).mean(axis=(2, 3)) for shift in (0.0, truth))
        p, *_ = t_tests(old, new)
        found.append(float(np.mean(p < 0.05)))
        spent.append(2 * Costs().of(plan.layouts, plan.boots, plan.runs))
    assert np.mean(found) >= 0.95
    assert spent == [plan.seconds for plan in plans()[0]]


def test_a_pilot_makes_a_plan_dearer_by_less_than_half() -> None:
    found, best = plans()
    assert np.median([plan.seconds for plan in found]) < 1.5 * best.seconds


def test_a_plan_for_a_width_gives_that_width() -> None:
    random, goal = np.random.default_rng(7), Goal(1.0)
    parts = components_of(*(simulate(random, (1, 200, *PILOT[1:]))[0] for _ in range(2)))
    plan = spend(parts, PILOT[1:], goal)
    assert plan is not None
    shape = (2000, plan.layouts, plan.boots, plan.runs)
    _, low, high = t_tests(*(simulate(random, shape).mean(axis=(2, 3)) for _ in range(2)))
    widths = 100 * (np.exp(high) - np.exp(low))
    assert 0.8 < np.mean(widths) <= 1.0


def test_looking_after_every_layout_keeps_the_error_rate() -> None:
    """A/A studies of up to 40 layouts of 2 boots of 3 runs, looked at after each."""
    random = np.random.default_rng(8)
    old, new = (simulate(random, (4000, 40, 2, 3)).mean(axis=(2, 3)) for _ in range(2))
    crossed = (_log_martingale(new - old, np.arange(1, 41), PRIOR) > np.log(20)).any(axis=1)
    assert 0.01 < np.mean(crossed) <= 0.05


def test_stopping_when_the_interval_is_narrow_keeps_its_coverage() -> None:
    random, truth = np.random.default_rng(9), 0.005
    held, sizes = [], []
    for _ in range(300):
        old, new = (
            simulate(random, (1, 80, 2, 3), shift).mean(axis=(2, 3))[0] for shift in (0.0, truth)
        )
        ratios, n = list(new - old), 4
        while not (decision := decide(ratios[:n], width=1.5, most=80)).stop:
            n += 1
        held.append(decision.look.low <= truth <= decision.look.high)
        sizes.append(n)
    assert np.mean(held) >= 0.95
    assert 5 < np.median(sizes) < 40


def test_the_robust_interval_keeps_its_rate_and_bears_wild_runs() -> None:
    """One run in fifty takes up to twice as long: medians of boots hardly notice."""
    random = np.random.default_rng(10)
    old, new = (simulate(random, (1500, 10, 2, 5)) for _ in range(2))
    for side in (old, new):
        wild = random.random(side.shape) < 0.02
        side[wild] += random.uniform(0.1, 0.7, int(wild.sum()))
    wrong, widths = [], []
    for study in range(len(old)):
        units = (np.median(side[study], axis=2).mean(axis=1) for side in (old, new))
        ci = robust_shift(*units, paired=False).ci
        assert ci is not None
        wrong.append(not ci[0] <= 1.0 <= ci[1])
        widths.append(np.log(ci[1] / ci[0]))
    assert 0.03 <= np.mean(wrong) <= 0.06
    _, low, high = t_tests(old.mean(axis=(2, 3)), new.mean(axis=(2, 3)))
    assert np.median(widths) < 0.6 * np.median(high - low)
