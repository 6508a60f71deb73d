# SPDX-License-Identifier: GPL-2.0-or-later
"""The whole analysis: what it says of sound, small, odd and hopeless data."""

import warnings
from math import isinf, isnan, nan
from typing import TypeVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from march import march, sample

from kernsmith.report.analysis.sections import stratum_sections
from kernsmith.report.analysis.words import check_sentence, verdict_sentences
from kernsmith.report.plain import as_text
from kernsmith.stats.analysis import Analysis, Options, StratumAnalysis, analyse
from kernsmith.stats.assumptions import (
    Check,
    Drift,
    EqualVariance,
    Independence,
    Normality,
    RunOrder,
)
from kernsmith.stats.factorial import factorial
from kernsmith.stats.samples import Sample, Stratum, Summary, summarise

OPTIONS = Options(("variant",), "seconds")


def one(*samples: Sample, options: Options = OPTIONS) -> StratumAnalysis:
    return analyse([Stratum.of(None, samples)], options).strata[0]


Kind = TypeVar("Kind", bound=Check)


def check(found: StratumAnalysis, kind: type[Kind]) -> Kind:
    (each,) = [each for each in found.checks if isinstance(each, kind)]
    return each


def test_one_group_has_figures_and_no_comparisons() -> None:
    found = one(sample("a", [1.0, 2.0, 3.0]))
    assert found.groups[0].mean == 2.0
    assert found.comparisons == ()


def test_all_strata_have_the_same_baseline_in_whatever_order_their_rows_are() -> None:
    old, new, more = (
        sample("old", [1.0, 1.1]),
        sample("new", [2.0, 2.1]),
        sample("more", [3.0, 3.1]),
    )
    strata = [
        Stratum.of("x", [old, new, more]),
        Stratum.of("y", [more, new, old]),
        Stratum.of("z", [more, new]),
    ]
    found = analyse(strata, OPTIONS)
    pairs = [[(pair.a, pair.b) for pair in each.comparisons] for each in found.strata]
    assert pairs[0] == pairs[1] == [("old", "new"), ("old", "more"), ("new", "more")]
    assert pairs[2] == [("new", "more")]
    assert all(pair.difference > 0 for each in found.strata for pair in each.comparisons)
    assert all(pair.p_holm > pair.p for pair in found.strata[0].comparisons)
    assert [(each.mean.b, each.mean.benchmarks) for each in found.across] == [
        ("new", 2),
        ("more", 2),
    ]
    assert found.notes == ("z has no group old: the first there is new",)


def test_a_group_of_one_leans_on_the_spread_of_the_others() -> None:
    found = one(sample("a", [1.0, 2.0, 3.0, 2.0]), sample("b", [9.0]))
    assert isnan(found.groups[1].sd)
    assert found.comparisons[0].p < 0.01


def test_two_groups_of_one_cannot_be_tested() -> None:
    found = one(sample("a", [1.0]), sample("b", [2.0]))
    assert isnan(found.p)
    assert found.comparisons[0].percent == 100.0
    assert isnan(found.comparisons[0].p)


def test_groups_without_any_spread_that_differ() -> None:
    found = one(sample("a", [1.0] * 4), sample("b", [2.0] * 4))
    assert found.anova is not None
    assert isinf(found.anova.f)
    assert found.comparisons[0].p == 0.0
    assert (found.comparisons[0].low, found.comparisons[0].high) == (1.0, 1.0)


def test_groups_that_are_all_the_same() -> None:
    found = one(sample("a", [0.1] * 4), sample("b", [0.1] * 3))
    assert found.comparisons[0].p == 1.0
    assert found.comparisons[0].difference == 0.0
    assert check(found, Normality).standing == "unknown"


def test_a_baseline_of_zero_has_no_per_cent() -> None:
    found = one(sample("none", [0.0] * 5), sample("some", [1.0, 1.1, 0.9, 1.0, 1.05]))
    assert found.comparisons[0].difference == pytest.approx(1.01)
    assert isnan(found.comparisons[0].percent)


def test_unequal_n_and_unequal_variances() -> None:
    random = np.random.default_rng(1)
    found = one(
        sample("steady", list(random.normal(10, 0.01, 40))),
        sample("jumpy", list(random.normal(10, 1.0, 12))),
    )
    assert found.method == "Games-Howell"
    assert check(found, EqualVariance).standing == "violated"
    assert found.p == found.welch.p


def test_without_a_spread_in_one_group_the_ranks_take_the_place_of_welchs_test() -> None:
    samples = [
        sample("a", [10.0] * 6),
        sample("b", [20.0, 25.0, 22.0, 28.0, 19.0, 30.0]),
        sample("c", [10.0, 10.1, 9.9, 10.0, 10.2, 9.8]),
    ]
    strata = [Stratum.of(name, samples) for name in ("one", "two")]
    found = analyse(strata, OPTIONS).strata[0]
    assert found.method == "Games-Howell"
    assert isnan(found.welch.p)
    assert found.p == found.kruskal_wallis.p < 0.01
    assert found.p_holm == pytest.approx(2 * found.p)
    assert verdict_sentences(found, OPTIONS)[0] == (
        f"The groups differ: Kruskal-Wallis H(2) = {found.kruskal_wallis.statistic:.6g}, "
        f"p = {found.p:.3g}; Welch's test needs a spread in every group."
    )
    text = as_text(stratum_sections(found, OPTIONS), 100)
    assert "Fisher's ANOVA" in text
    assert "Kruskal-Wallis  H" in text


@pytest.mark.parametrize("low", [1.1, 1.1e-30, -1.1e6])
def test_rounding_errors_are_no_interaction(low: float) -> None:
    groups = {("a1", "b1"): 1.1, ("a1", "b2"): 1.3, ("a2", "b1"): 1.2, ("a2", "b2"): 1.4,
              ("a3", "b1"): 1.7, ("a3", "b2"): 1.9}  # fmt: skip
    none = np.empty(0, dtype=np.int64)
    cells = [
        summarise(Sample(levels, np.array([value * low / 1.1] * 2), none, none))
        for levels, value in groups.items()
    ]
    a, b, both, residual = factorial(("a", "b"), cells)
    assert isinf(a.f)
    assert isinf(b.f)
    assert (both.sum_of_squares, residual.sum_of_squares) == (0.0, 0.0)
    assert isnan(both.f)
    assert isnan(both.p)


def test_an_interaction_alone_leaves_no_main_effects_of_rounding() -> None:
    crossed = {("a1", "b1"): 1.1, ("a1", "b2"): 1.7, ("a2", "b1"): 1.7, ("a2", "b2"): 1.1}
    cells = [Summary(levels, 3, mean, 0.0) for levels, mean in crossed.items()]
    a, b, both, _ = factorial(("a", "b"), cells)
    assert (a.sum_of_squares, b.sum_of_squares) == (0.0, 0.0)
    assert both.p == 0.0


def test_spread_that_grows_with_the_mean_calls_for_ratios() -> None:
    random = np.random.default_rng(2)
    found = one(
        sample("fast", list(np.exp(random.normal(0, 0.1, 40)))),
        sample("slow", list(np.exp(random.normal(2, 0.1, 40)))),
    )
    assert check(found, EqualVariance).standing == "violated"
    assert check(found, EqualVariance).p_of_equal_logs is not None
    pair = found.comparisons[0]
    assert pair.ratio_low < np.exp(2) < pair.ratio_high


def test_groups_measured_one_after_another_are_confounded_with_time() -> None:
    found = one(*march("X5950").samples)
    order = check(found, RunOrder)
    assert order.standing == "violated"
    assert order.one_after_another
    assert not order.order_known


def test_interleaved_groups_are_not() -> None:
    values = [10.0, 11.0, 10.1, 11.1, 9.9, 10.9, 10.2, 11.2]
    at = np.arange(8)
    samples = [
        Sample((name,), np.array(values[i::2]), at[i::2], at[i::2] + 2)
        for i, name in enumerate("ab")
    ]
    assert check(one(*samples), RunOrder).standing == "holds"


def test_a_machine_that_warms_up_is_noticed() -> None:
    rising = [10 + 0.1 * i + 0.01 * (-1) ** i for i in range(12)]
    drift = check(one(sample("a", rising), sample("b", [9.0, 9.1] * 6)), Drift)
    assert drift.standing == "violated"
    assert drift.drifting == (("a", pytest.approx(1.1, abs=0.01)),)


def test_runs_that_resemble_their_neighbours_are_noticed() -> None:
    random = np.random.default_rng(3)
    walk = np.cumsum(random.normal(0, 1, 60)) + 100
    found = check(one(sample("a", list(walk)), sample("b", list(walk + 1))), Independence)
    assert found.standing == "violated"
    assert found.alike


def test_outliers_are_reported_with_their_line_and_kept() -> None:
    found = one(sample("a", [10.0, 10.1, 9.9, 10.0, 10.2, 50.0]), sample("b", [10.0, 10.1] * 3))
    (outlier,) = found.outliers
    assert (outlier.group, outlier.row, outlier.value, outlier.far) == ("a", 7, 50.0, True)
    assert found.groups[0].maximum == 50.0


def test_the_baseline_comes_first_and_is_compared_with() -> None:
    options = Options(("variant",), baseline="b")
    found = one(sample("a", [1.0, 1.1]), sample("b", [2.0, 2.1]), options=options)
    assert [group.name for group in found.groups] == ["b", "a"]
    assert (found.comparisons[0].a, found.comparisons[0].b) == ("b", "a")
    assert found.comparisons[0].percent == pytest.approx(-48.78, abs=0.01)


def test_an_unknown_baseline_names_the_groups() -> None:
    with pytest.raises(ValueError, match="no group is called 'c'; the groups are 'a', 'b'"):
        one(sample("a", [1.0]), sample("b", [1.0]), options=Options(("v",), baseline="c"))


def two_benchmarks() -> Analysis:
    random = np.random.default_rng(4)

    def benchmark(name: str, ratio: float) -> Stratum:
        old, new = random.normal(10, 0.1, 20), random.normal(10 * ratio, 0.1, 20)
        return Stratum.of(name, [sample("old", list(old)), sample("new", list(new))])

    return analyse(
        [benchmark("pipe", 0.8), benchmark("fork", 1.25), benchmark("mmap", 1.0)], OPTIONS
    )


def test_benchmarks_are_summed_up_by_the_geometric_mean() -> None:
    (across,) = two_benchmarks().across
    assert across.mean.ratio == pytest.approx(1.0, abs=0.01)
    assert across.mean.run_low < 1 < across.mean.run_high
    assert across.mean.index == pytest.approx(10.0, abs=0.1)
    arithmetic = next(gain for gain in across.gains if gain.definition == "speed-up")
    assert arithmetic.percent == pytest.approx(1.5, abs=0.5)  # 25 % and -20 % are not 0 %


def test_many_benchmarks_are_corrected_by_holm() -> None:
    pipe, fork, mmap = two_benchmarks().strata
    assert pipe.comparisons[0].p_holm == pytest.approx(min(1, 3 * pipe.comparisons[0].p), rel=0.6)
    assert mmap.comparisons[0].p_holm == mmap.comparisons[0].p
    assert fork.p_holm >= fork.p


def test_published_tables_without_standard_deviations_have_ratios_only() -> None:
    strata = [
        Stratum(
            f"test {i}", (Summary(("GCC",), 9, 100.0, nan), Summary(("ICC",), 9, 90.0 + i, nan))
        )
        for i in range(5)
    ]
    found = analyse(strata, OPTIONS)
    assert isnan(found.strata[0].p)
    assert isnan(found.across[0].mean.run_low)
    assert found.across[0].mean.benchmark_low < found.across[0].mean.ratio


def test_a_hundred_groups_of_ten_thousand() -> None:
    random = np.random.default_rng(5)
    found = one(*(sample(f"g{i}", list(random.normal(10, 1 + i / 100, 2000))) for i in range(100)))
    assert len(found.comparisons) == 4950
    assert found.method == "Games-Howell"
    assert all(0 <= pair.p <= 1 for pair in found.comparisons)


SIZES = st.floats(1e-60, 1e60)
VALUES = st.lists(
    st.one_of(SIZES, SIZES.map(lambda size: -size), st.integers(-3, 3).map(float), st.just(0.1)),
    min_size=1,
    max_size=8,
)


@settings(max_examples=150, deadline=None)
@given(groups=st.lists(VALUES, min_size=1, max_size=4), alpha=st.sampled_from([0.01, 0.05, 0.2]))
def test_any_finite_values_give_an_analysis_without_a_warning(
    groups: list[list[float]], alpha: float
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        samples = [sample(f"g{index}", values) for index, values in enumerate(groups)]
        found = one(*samples, options=Options(("g",), alpha=alpha))
    for pair in found.comparisons:
        assert isnan(pair.p) or 0 <= pair.p <= 1
        assert isnan(pair.low) or pair.low <= pair.difference <= pair.high
    assert verdict_sentences(found, Options(("g",), alpha=alpha))
    assert all(check_sentence(each, found) for each in found.checks)
