# SPDX-License-Identifier: GPL-2.0-or-later
"""The same figures as R's, to six significant digits.

Golden figures: golden/r.csv, made by golden/make_golden.sh. R subtracts tails of the studentized
range from 1, so its smallest p-values have 11 to 12 decimals only; that is the absolute tolerance.
"""

import numpy as np
import pytest
from march import DATA, MACHINES, golden_r, march, read_groups
from values import value_effect

from kernsmith.stats.anova import bartlett, brown_forsythe, kruskal_wallis, one_way, welch
from kernsmith.stats.assumptions import check_assumptions
from kernsmith.stats.factorial import factorial
from kernsmith.stats.multiple import holm
from kernsmith.stats.pairwise import Comparison, compare_all
from kernsmith.stats.power import exact_n, power_of
from kernsmith.stats.samples import Sample, Stratum, Summary, summarise
from kernsmith.stats.studentized_range import critical_value, tail

R = golden_r()
STUDIES = [*MACHINES, "level"]


def same(found: float, key: str, absolute: float = 1e-300) -> None:
    assert found == pytest.approx(R[key], rel=1e-6, abs=absolute), key


def stratum(study: str) -> Stratum:
    if study == "level":
        return read_groups(DATA / "unbalanced.csv", "seconds", "level")
    return march(study)


@pytest.mark.parametrize("study", STUDIES)
def test_one_way_anova_from_summaries_alone(study: str) -> None:
    table = one_way(stratum(study).summaries)
    assert table is not None
    same(table.f, f"{study}|aov|F")
    same(table.p, f"{study}|aov|p")
    same(table.sum_between, f"{study}|aov|ss")
    same(table.mean_square_within, f"{study}|aov|ms")


@pytest.mark.parametrize("study", STUDIES)
def test_welch_kruskal_and_the_tests_of_variance(study: str) -> None:
    data = stratum(study)
    found = welch(data.summaries)
    same(found.statistic, f"{study}|welch|F")
    same(found.df[1], f"{study}|welch|df")
    same(found.p, f"{study}|welch|p")
    ranks = kruskal_wallis(data.samples)
    same(ranks.statistic, f"{study}|kruskal|H")
    same(ranks.p, f"{study}|kruskal|p")
    same(bartlett(data.summaries).statistic, f"{study}|bartlett|K")
    same(bartlett(data.summaries).p, f"{study}|bartlett|p")
    same(brown_forsythe(data.samples).statistic, f"{study}|brown-forsythe|F")
    same(brown_forsythe(data.samples).p, f"{study}|brown-forsythe|p")


@pytest.mark.parametrize("study", STUDIES)
def test_normality_of_the_residuals(study: str) -> None:
    check = check_assumptions(stratum(study), 0.05)[0]
    same(check.figure, f"{study}|shapiro|W")
    same(check.p, f"{study}|shapiro|p")


@pytest.mark.parametrize("study", STUDIES)
def test_tukey_kramer(study: str) -> None:
    for pair in compare_all(stratum(study).summaries, "Tukey-Kramer", 0.05):
        key = f"{study}|tukey|{pair.a}|{pair.b}|"
        same(pair.difference, key + "diff")
        same(pair.low, key + "low")
        same(pair.high, key + "high")
        same(pair.p, key + "p", absolute=1e-12)


@pytest.mark.parametrize("study", STUDIES)
def test_games_howell(study: str) -> None:
    for pair in compare_all(stratum(study).summaries, "Games-Howell", 0.05):
        key = f"{study}|games-howell|{pair.a}|{pair.b}|"
        same(pair.df, key + "df")
        same(pair.q, key + "q")
        same(pair.low, key + "low")
        same(pair.high, key + "high")
        same(pair.p, key + "p", absolute=1e-11)


def cells() -> list[Summary]:
    lines = (DATA / "unbalanced.csv").read_text().splitlines()[1:]
    rows = [line.split(",") for line in lines]
    groups: dict[tuple[str, str], list[float]] = {}
    for compiler, level, seconds in rows:
        groups.setdefault((compiler, level), []).append(float(seconds))
    none = np.empty(0, dtype=np.int64)
    return [summarise(Sample(key, np.array(values), none, none)) for key, values in groups.items()]


def test_factorial_type_two_sums_of_squares_of_an_unbalanced_design() -> None:
    table = factorial(("compiler", "level"), cells())
    assert [row.term for row in table] == ["compiler", "level", "compiler × level", "residual"]
    for row in table[:3]:
        same(row.sum_of_squares, f"type2|{row.term}|ss")
        same(row.df, f"type2|{row.term}|df")
        same(row.f, f"type2|{row.term}|F")
        same(row.p, f"type2|{row.term}|p")


def test_factorial_of_a_balanced_design() -> None:
    groups: dict[tuple[str, str], list[float]] = {}
    for machine in MACHINES:
        values = np.concatenate([sample.values for sample in march(machine).samples])
        for index, value in enumerate(values):
            groups.setdefault((machine, str(index % 2)), []).append(float(value))
    none = np.empty(0, dtype=np.int64)
    found = [summarise(Sample(key, np.array(v), none, none)) for key, v in groups.items()]
    for index, row in enumerate(factorial(("machine", "half"), found)[:3], start=1):
        assert row.f == pytest.approx(R[f"balanced|{index}|F"], rel=1e-6)
        assert row.p == pytest.approx(R[f"balanced|{index}|p"], rel=1e-6, abs=1e-300)


def test_welch_on_logarithms_is_the_effect_of_independent_layouts() -> None:
    rows = [line.split(",") for line in (DATA / "unbalanced.csv").read_text().splitlines()[1:]]
    side = {name: [float(row[2]) for row in rows if row[0] == name] for name in ("gcc", "clang")}
    effect = value_effect(side["gcc"], side["clang"], paired=False)
    assert effect.df is not None
    assert effect.p is not None
    same(effect.df, "log-welch|df")
    same(effect.p, "log-welch|p")


def test_holm() -> None:
    for index, adjusted in enumerate(holm([0.01, 0.04, 0.03, 0.005, 0.5]), start=1):
        same(adjusted, f"holm|{index}")


def test_power_and_sample_size() -> None:
    for n in (3, 12, 30):
        same(power_of(1.0, 1.2, n), f"power|{n}")
    for goal in (0.8, 0.9):
        # power.t.test solves to 4 digits of n only (tol = .Machine$double.eps^0.25)
        assert exact_n(1.0, 1.2, goal) == pytest.approx(R[f"n|{goal}"], rel=1e-4)
        paired = exact_n(1.0, 1.2, goal, paired=True)
        assert paired == pytest.approx(R[f"n-paired|{goal}"], rel=1e-4)


def test_the_studentized_range() -> None:
    for key, value in R.items():
        match key.split("|"):
            case ["ptukey", k, df, q]:
                found = float(tail([float(q)], int(k), [float(df)])[0])
                # R's quadrature has five digits for few degrees of freedom
                accuracy = 1e-6 if float(df) >= 30 else 1e-5
                assert found == pytest.approx(value, rel=accuracy, abs=1e-11), key
            case ["qtukey", k, df]:
                found = critical_value(0.05, int(k), float(df))
                # R's qtukey stops its search early for few degrees of freedom
                accuracy = 1e-6 if float(df) >= 30 else 1e-3
                assert found == pytest.approx(value, rel=accuracy), key


@pytest.mark.parametrize(("k", "df"), [(2, 2.0), (3, 5.5), (10, 5.5), (3, 33.0)])
def test_the_studentized_range_against_scipy(k: int, df: float) -> None:
    from scipy import stats

    for q in (0.5, 2.0, 6.0):
        exact = float(stats.studentized_range.sf(q, k, df))
        assert float(tail([q], k, [df])[0]) == pytest.approx(exact, rel=1e-7)

    expected = float(stats.studentized_range.isf(0.05, k, df))
    assert critical_value(0.05, k, df) == pytest.approx(expected, rel=1e-6)


def test_tails_far_beyond_r_and_every_published_table() -> None:
    """The range of two values is a t-test, whose tails are known exactly."""
    from scipy import stats

    q = np.array([5.0, 20.0, 60.0, 200.0])
    for df in (3.0, 33.0, 500.0):
        exact = 2 * stats.t.sf(q / np.sqrt(2), df)
        assert tail(q, 2, [df]) == pytest.approx(exact, rel=1e-7)


def test_one_comparison_of_two_groups_is_students_test() -> None:
    from scipy import stats

    first, second, _ = march("X5950").samples
    pair: Comparison = compare_all([summarise(first), summarise(second)], "Tukey-Kramer", 0.05)[0]
    expected = stats.ttest_ind(second.values, first.values)
    assert pair.p == pytest.approx(float(expected.pvalue), rel=1e-7)
    assert (pair.low, pair.high) == pytest.approx(tuple(expected.confidence_interval()), rel=1e-7)
