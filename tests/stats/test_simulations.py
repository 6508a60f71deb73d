# SPDX-License-Identifier: GPL-2.0-or-later
"""Error rates and coverage, measured on thousands of simulated studies with fixed seeds."""

import numpy as np
import pytest
from march import sample
from numpy.typing import NDArray
from scipy import stats
from values import mix_effect, value_effect

from kernsmith.stats.assumptions import check_assumptions
from kernsmith.stats.components import variance_components
from kernsmith.stats.effect import Effect
from kernsmith.stats.samples import Stratum
from kernsmith.stats.sequential import PRIOR, _log_martingale, decide, look_at

STUDIES, LAYOUTS, BOOTS, RUNS = 2000, 8, 3, 4
LAYOUT_SD, BOOT_SD, RUN_SD = 0.015, 0.005, 0.004
Array = NDArray[np.float64]


def is_significant(effect: Effect) -> bool:
    """By itself, at 5 %."""
    assert effect.p is not None
    return effect.p < 0.05


def simulate(seed: int, effect: float, layout_sd: float = LAYOUT_SD) -> tuple[Array, Array]:
    """Log times of (study, layout, boot, run) for a baseline and a variant."""
    random = np.random.default_rng(seed)

    def side(shift: float) -> Array:
        layout = random.normal(0, layout_sd, (STUDIES, LAYOUTS, 1, 1))
        boot = random.normal(0, BOOT_SD, (STUDIES, LAYOUTS, BOOTS, 1))
        run = random.normal(0, RUN_SD, (STUDIES, LAYOUTS, BOOTS, RUNS))
        return np.asarray(shift + layout + boot + run)

    return side(0.0), side(effect)


def by_layout(logs: Array) -> list[list[float]]:
    """Geometric mean of each layout, of each study."""
    return [list(map(float, study)) for study in np.exp(logs.mean(axis=(2, 3)))]


def test_nothing_is_found_where_nothing_is_when_layouts_are_the_unit() -> None:
    baseline, variant = simulate(1, 0.0)
    verdicts = [
        is_significant(value_effect(old, new, paired=False))
        for old, new in zip(by_layout(baseline), by_layout(variant), strict=True)
    ]
    assert 0.04 <= np.mean(verdicts) <= 0.06


def test_the_same_with_paired_layouts() -> None:
    baseline, variant = simulate(2, 0.0)
    verdicts = [
        is_significant(value_effect(old, new))
        for old, new in zip(by_layout(baseline), by_layout(variant), strict=True)
    ]
    assert 0.04 <= np.mean(verdicts) <= 0.06


def test_taking_every_run_for_a_sample_of_its_own_finds_what_is_not_there() -> None:
    """The same studies as above: 96 runs a variant instead of 8 layouts."""
    baseline, variant = simulate(1, 0.0)
    flat = (STUDIES, LAYOUTS * BOOTS * RUNS)
    p = stats.ttest_ind(baseline.reshape(flat), variant.reshape(flat), axis=1).pvalue
    assert np.mean(p < 0.05) > 0.5


def test_one_layout_a_variant_finds_what_is_not_there() -> None:
    """What the seeds did: one binary each, many runs."""
    baseline, variant = simulate(3, 0.0)
    one = (STUDIES, BOOTS * RUNS)
    p = stats.ttest_ind(baseline[:, 0].reshape(one), variant[:, 0].reshape(one), axis=1).pvalue
    assert np.mean(p < 0.05) > 0.6


@pytest.mark.parametrize("paired", [False, True])
def test_95_per_cent_intervals_hold_a_true_effect_of_one_per_cent(paired: bool) -> None:
    truth = 0.99
    baseline, variant = simulate(4, float(np.log(truth)))
    held = []
    for old, new in zip(by_layout(baseline), by_layout(variant), strict=True):
        ci = value_effect(old, new, paired=paired).ci
        assert ci is not None
        held.append(ci[0] <= truth <= ci[1])
    assert 0.94 <= np.mean(held) <= 0.96


def test_the_overall_effect_of_workloads_that_share_layouts_keeps_its_rate() -> None:
    """Workloads of one layout are correlated; they must not count as more layouts."""
    random = np.random.default_rng(5)
    verdicts = []
    for _ in range(STUDIES):
        shared = random.normal(0, 0.01, (2, 1, LAYOUTS))
        values = np.exp(shared + random.normal(0, 0.005, (2, 4, LAYOUTS)))
        workloads = {str(w): (list(values[0, w]), list(values[1, w])) for w in range(4)}
        verdicts.append(is_significant(mix_effect(workloads, paired=False)))
    assert 0.04 <= np.mean(verdicts) <= 0.06


def test_variance_components_are_found_again() -> None:
    baseline, variant = simulate(6, 0.01)
    shape = baseline[0].shape
    layout, boot = (np.broadcast_to(i, shape).ravel() for i in np.indices(shape)[:2])
    names = [*["a"] * layout.size, *["b"] * layout.size]
    found = []
    for study in range(200):
        values = np.exp(np.concatenate([baseline[study].ravel(), variant[study].ravel()]))
        parts = variance_components(list(values), names, [*layout, *layout], [*boot, *boot])
        assert [part.name for part in parts] == ["layout", "boot", "run"]
        found.append([part.variance for part in parts])
    expected = [LAYOUT_SD**2, BOOT_SD**2, RUN_SD**2]
    assert np.mean(found, axis=0) == pytest.approx(expected, rel=0.06)


def test_looking_after_every_layout_keeps_the_error_rate() -> None:
    """2,000 A/A studies of up to 60 layouts, looked at after each: how many ever cross."""
    random = np.random.default_rng(7)
    x = random.normal(0, 0.02, (STUDIES, 60))
    counts = np.arange(1, 61)
    crossed = (_log_martingale(x, counts, PRIOR) > np.log(20)).any(axis=1)
    assert np.mean(crossed) <= 0.05
    means = np.cumsum(x, axis=1) / counts
    squares = np.cumsum(x**2, axis=1) - counts * means**2
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.abs(means) / np.sqrt(squares / (counts - 1) / counts)
        p = np.asarray(2 * stats.t.sf(t, counts - 1))
    assert np.mean((p[:, 1:] < 0.05).any(axis=1)) > 0.2


def test_stopping_when_the_interval_is_narrow_keeps_its_coverage() -> None:
    """The always-valid interval at the stopping time holds the truth in at least 95 %."""
    random = np.random.default_rng(8)
    truth, held, sizes = -0.01, [], []
    for _ in range(500):
        values = list(random.normal(truth, 0.01, 80))
        n = 3
        while not (decision := decide(values[:n], width=2.0, most=80)).stop:
            n += 1
        assert decision.reached
        held.append(decision.look.low <= truth <= decision.look.high)
        sizes.append(n)
    assert np.mean(held) >= 0.95
    assert 5 < np.median(sizes) < 30


def test_a_real_effect_ends_a_sequential_study_early() -> None:
    random = np.random.default_rng(9)
    looks = [look_at(list(random.normal(-0.03, 0.01, 12))) for _ in range(200)]
    assert np.mean([look.p < 0.05 for look in looks]) > 0.99


@pytest.mark.parametrize("sizes", [(12, 12, 12), (6, 6), (30, 30)])
def test_tests_of_assumptions_are_wrong_as_often_as_they_say(sizes: tuple[int, ...]) -> None:
    """At alpha = 0.05 and with independent normal values; Brown-Forsythe is careful."""
    random = np.random.default_rng(10)
    wrong: dict[str, int] = {}
    for _ in range(600):
        samples = [sample(str(i), list(random.normal(10, 1, n))) for i, n in enumerate(sizes)]
        for check in check_assumptions(Stratum.of(None, samples), 0.05):
            wrong[check.name] = wrong.get(check.name, 0) + (check.p < 0.05)
    for name in ("normality", "independence", "drift"):
        assert 15 <= wrong[name] <= 48, name
    assert wrong["equal variance"] <= 40
