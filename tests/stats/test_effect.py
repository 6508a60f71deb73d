# SPDX-License-Identifier: GPL-2.0-or-later
"""Effects over layouts: ratios, intervals, and the cases in which there is nothing to divide by."""

from math import exp, isnan, log

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from values import mix_effect, value_effect

from kernsmith.stats.effect import layout_share
from kernsmith.stats.means import logs_of

BASELINE = [100.0, 104.0, 98.0, 101.0, 103.0, 99.0, 102.0, 97.0]
TREATED = [90.0, 93.1, 88.5, 90.2, 93.0, 88.8, 91.9, 87.6]


def test_a_paired_effect_is_the_t_test_of_log_ratios() -> None:
    effect = value_effect(BASELINE, TREATED)
    ratios = [log(new / old) for old, new in zip(BASELINE, TREATED, strict=True)]
    expected = stats.ttest_1samp(ratios, 0.0)
    low, high = expected.confidence_interval(0.95)
    assert effect.ratio == pytest.approx(exp(sum(ratios) / 8))
    assert effect.p == pytest.approx(expected.pvalue)
    assert effect.ci == pytest.approx((exp(low), exp(high)))
    assert effect.n == 8


def test_independent_layouts_are_compared_by_welch() -> None:
    effect = value_effect(BASELINE, TREATED[:5], paired=False)
    old, new = [log(v) for v in BASELINE], [log(v) for v in TREATED[:5]]
    expected = stats.ttest_ind(new, old, equal_var=False)
    low, high = expected.confidence_interval(0.95)
    assert effect.p == pytest.approx(expected.pvalue)
    assert effect.df == pytest.approx(expected.df)
    assert effect.ci == pytest.approx((exp(low), exp(high)))
    assert effect.n == 5


def test_zeros_are_compared_with_half_a_count_more() -> None:
    effect = value_effect([10, 20, 40], [0, 1, 0])
    logs = [log(0.5 / 10.5), log(1.5 / 20.5), log(0.5 / 40.5)]
    assert effect.half_added
    assert effect.ratio == pytest.approx(exp(sum(logs) / 3))
    assert not value_effect([10, 20, 40], [1, 1, 1]).half_added


def test_a_metric_that_never_happens_is_no_effect() -> None:
    effect = value_effect([0, 0, 0], [0, 0, 0])
    assert (effect.ratio, effect.ci, effect.p) == (1.0, (1.0, 1.0), 1.0)


def test_the_same_ratio_in_every_layout_has_a_zero_width_interval() -> None:
    effect = value_effect([3.0, 7.0, 11.0], [1.5, 3.5, 5.5])
    assert effect.p == 0.0
    assert effect.ci is not None
    assert effect.ci == pytest.approx((0.5, 0.5), rel=1e-12)
    assert effect.ci[0] == effect.ci[1]


def test_one_layout_has_no_interval() -> None:
    effect = value_effect([100.0], [90.0])
    assert (effect.ci, effect.p, effect.layout_share) == (None, None, None)


def test_the_overall_effect_counts_workloads_equally() -> None:
    effect = mix_effect(
        {"pipe": ([1000.0, 1010.0], [500.0, 505.0]), "fork": ([2.0, 2.02], [2.0, 2.02])},
        paired=True,
    )
    assert effect.ratio == pytest.approx(0.5**0.5)
    assert effect.p == 0.0


def test_an_overall_effect_of_one_workload_is_that_workloads_effect() -> None:
    one = {"pipe": (BASELINE, TREATED)}
    for paired in (True, False):
        whole = mix_effect(one, paired=paired)
        assert whole == value_effect(BASELINE, TREATED, paired=paired)


@pytest.mark.parametrize(
    ("groups", "share"),
    [
        ([[1.0, 1.0], [2.0, 2.0]], 0.0),
        ([[1.0, 2.0], [1.0, 2.0]], 1.0),
        ([[1.0, 1.0], [1.0, 1.0]], 0.0),
    ],
)
def test_the_layout_share_of_plain_cases(groups: list[list[float]], share: float) -> None:
    assert layout_share([logs_of(group, 0.0) for group in groups]) == pytest.approx(share)


def test_the_layout_share_is_a_variance_component() -> None:
    groups = [[exp(0.0), exp(0.2)], [exp(1.0), exp(1.2)]]
    within, between_square = 0.02, 1.0
    between = (between_square - within) / 2
    logs = [logs_of(group, 0.0) for group in groups]
    assert layout_share(logs) == pytest.approx(within / (within + between))
    assert isnan(layout_share([logs_of([1.0], 0.0), logs_of([2.0], 0.0)]))


@pytest.mark.parametrize(
    ("old", "new"), [([], []), ([1.0], [1.0, 2.0]), ([-1.0], [1.0]), ([float("nan")], [1.0])]
)
def test_impossible_values_are_refused(old: list[float], new: list[float]) -> None:
    with pytest.raises(ValueError, match=r"values|paired"):
        value_effect(old, new)


@given(st.lists(st.tuples(st.integers(0, 10**12), st.integers(0, 10**12)), min_size=2, max_size=20))
def test_any_counts_give_an_interval_around_the_ratio(pairs: list[tuple[int, int]]) -> None:
    effect = value_effect([old for old, _ in pairs], [new for _, new in pairs])
    assert effect.ci is not None
    assert effect.p is not None
    assert effect.ci[0] <= effect.ratio * (1 + 1e-9)
    assert effect.ratio <= effect.ci[1] * (1 + 1e-9)
    assert 0 <= effect.p <= 1
