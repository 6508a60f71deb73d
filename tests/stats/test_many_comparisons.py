# SPDX-License-Identifier: GPL-2.0-or-later
"""What is said of studies in which nothing differs, over all that they compare."""

import numpy as np
import pytest
from numpy.typing import NDArray
from statsmodels.stats.multitest import multipletests

from kernsmith.stats.multiple import (
    benjamini_yekutieli,
    benjamini_yekutieli_with_levels,
    holm,
    holm_with_levels,
)
from kernsmith.stats.observations import Observation
from kernsmith.stats.question import OVERALL, Question
from kernsmith.stats.study import judge
from kernsmith.stats.verdict import Judgement

STUDIES, LAYOUTS = 250, 8
VARIANTS, WORKLOADS = ("base", "a", "b"), ("pipe", "fork", "mmap", "send")
HEADLINES = ("cycles", "instructions", "misses", "branches")
METRICS = (*HEADLINES, "accesses", "iterations", "seconds", "faults")
ASKED = Question(VARIANTS, WORKLOADS, METRICS, frozenset(HEADLINES))
# Above 5 % by what 250 studies scatter by themselves: two standard errors.
MOST = 0.05 + 2 * (0.05 * 0.95 / STUDIES) ** 0.5


def judged(logs: NDArray[np.float64]) -> Judgement:
    """Of logarithms by variant, workload, metric and layout."""
    rows = [
        Observation(variant, f"random:{layout}", workload, "", 0, layout, metric, value)
        for variant, by_workload in zip(VARIANTS, np.exp(logs).tolist(), strict=True)
        for workload, by_metric in zip(WORKLOADS, by_workload, strict=True)
        for metric, values in zip(METRICS, by_metric, strict=True)
        for layout, value in enumerate(values)
    ]
    return judge(rows, ASKED)


def layout_noise(random: np.random.Generator, shared: float) -> NDArray[np.float64]:
    """What layouts do. shared: share of the variance that all metrics and workloads have in common
    in one layout of one variant; half of the rest is common to the metrics of a workload."""
    shape = (len(VARIANTS), len(WORKLOADS), len(METRICS), LAYOUTS)
    parts = [
        (shared, (shape[0], 1, 1, LAYOUTS)),
        ((1 - shared) / 2, (*shape[:2], 1, LAYOUTS)),
        ((1 - shared) / 2, shape),
    ]
    return np.asarray(sum(share**0.5 * random.normal(0, 0.01, of) for share, of in parts))


@pytest.mark.parametrize("shared", [0.0, 0.5, 0.9])
def test_an_a_a_study_over_all_cells(shared: float) -> None:
    """Of studies without any effect 5 % at most have a significant cell, of whichever family."""
    random = np.random.default_rng(11)
    primary, anywhere, uncorrected = [], [], []
    for _ in range(STUDIES):
        verdicts = judged(layout_noise(random, shared)).verdicts
        assert len(verdicts) == 2 * len(METRICS) * (1 + len(WORKLOADS))
        primary.append(any(v.significant for v in verdicts if v.family == "primary"))
        anywhere.append(any(v.significant for v in verdicts))
        uncorrected.append(any(v.effect.p is not None and v.effect.p < 0.05 for v in verdicts))
    assert np.mean(primary) <= MOST
    assert np.mean(anywhere) <= MOST
    assert np.mean(uncorrected) > 0.3


def test_one_workload_that_gets_slower_is_found_though_the_mix_hides_it() -> None:
    """Nothing but the families decides: a cell is not silenced by a mix that says nothing."""
    logs = layout_noise(np.random.default_rng(12), 0.5)
    logs[1, 0, 0] = logs[0, 0, 0] + 0.05 + 1e-4 * np.arange(LAYOUTS)
    logs[1, 1, 0] = logs[0, 1, 0] - 0.05 - 1e-4 * np.arange(LAYOUTS)
    found = {(v.variant, v.workload, v.metric): v for v in judged(logs).verdicts}
    assert found["a", "pipe", "cycles"].significant
    assert found["a", "fork", "cycles"].significant
    assert not found["a", OVERALL, "cycles"].significant
    assert found["a", "pipe", "cycles"].family == "exploratory"
    assert found["a", OVERALL, "cycles"].family == "primary"
    assert found["a", OVERALL, "seconds"].family == "exploratory"


def test_each_family_is_corrected_by_itself() -> None:
    logs = layout_noise(np.random.default_rng(13), 0.5)
    logs[1, :, :2] -= 0.03
    verdicts = judged(logs).verdicts
    for family, correct in (("primary", holm), ("exploratory", benjamini_yekutieli)):
        mine = [v for v in verdicts if v.family == family]
        p_values = [v.effect.p for v in mine if v.effect.p is not None]
        assert {v.tests for v in mine} == {len(p_values)} == {len(mine)}
        assert [v.p_corrected for v in mine] == correct(p_values)
        assert any(v.significant for v in mine)
        assert not all(v.significant for v in mine)


def test_the_corrected_interval_says_what_the_corrected_p_says() -> None:
    logs = layout_noise(np.random.default_rng(14), 0.5)
    logs[1, :, :2] -= 0.03
    for verdict in judged(logs).verdicts:
        assert verdict.ci_corrected is not None
        assert verdict.effect.ci is not None
        low, high = verdict.ci_corrected
        assert (low <= 1 <= high) is not verdict.significant
        assert low <= verdict.effect.ci[0] <= verdict.effect.ci[1] <= high


P_VALUES = [0.001, 0.008, 0.039, 0.041, 0.042, 0.06, 0.074, 0.205, 0.212, 0.216]


@pytest.mark.parametrize(("correct", "method"), [(holm, "holm"), (benjamini_yekutieli, "fdr_by")])
def test_corrections_are_those_of_statsmodels(correct: object, method: str) -> None:
    assert callable(correct)
    for p_values in (P_VALUES, P_VALUES[::-1], P_VALUES[:1]):
        expected = multipletests(p_values, method=method)[1]
        assert correct(p_values) == pytest.approx(list(expected))
    assert correct([*P_VALUES, float("nan")])[:10] == correct(P_VALUES)


def test_levels_by_hand() -> None:
    """Ten tests: Holm rejects one; Benjamini and Yekutieli (c = 2.929) the same one."""
    levels = [each.level for each in holm_with_levels(P_VALUES, 0.05)]
    assert levels == pytest.approx([0.05 / 10] + [0.05 / 9] * 9)
    levels = [each.level for each in benjamini_yekutieli_with_levels(P_VALUES, 0.05)]
    unit = 0.05 / (10 * sum(1 / k for k in range(1, 11)))
    assert levels == pytest.approx([unit] + [2 * unit] * 9)
