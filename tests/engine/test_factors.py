# SPDX-License-Identifier: GPL-2.0-or-later
"""The whole of a factorial design, on made-up figures whose answer is known."""

from collections.abc import Callable
from dataclasses import replace
from math import log

import pandas as pd
import pingouin
import pytest
from test_verdicts import hash_of, judged, layout_noise

from kernsmith.cli.outcome import show
from kernsmith.machine.tcg import open_machine
from kernsmith.report.study.document import study_document
from kernsmith.report.study.markdown import study_markdown
from kernsmith.report.study.page import study_page
from kernsmith.stats.design import FactorAnalysis
from kernsmith.study import Study, Trial

STUDY = Study(
    source="x",
    config="lab",
    factors=(("optimisation", ("O2", "O3")), ("march", ("default", "x86-64-v2", "x86-64-v3"))),
)
WORTH = {"O3": 0.98, "x86-64-v2": 0.99, "x86-64-v3": 0.95}


def factor(trial: Trial) -> float:
    product = 1.0
    for _, level in trial.variant.levels:
        product *= WORTH.get(level, 1.0)
    return product


def noise(trial: Trial) -> float:
    return 1 + 1e-4 * (hash_of(trial.variant.name + trial.layout.seed + trial.workload) % 11)


def analysed(study: Study, figure: Callable[[Trial], float]) -> FactorAnalysis:
    result = judged(study, figure)
    found = {a.metric: a for a in result.factors}
    assert list(found) == ["model_cycles", "kernel_instructions"]
    return found["model_cycles"]


def test_factors_that_work_independently() -> None:
    found = analysed(STUDY, lambda t: 1e6 * factor(t) * layout_noise(t) * noise(t))
    levels = {(each.factor, each.level): each for each in found.levels}
    assert levels.keys() == {
        ("optimisation", "O3"), ("march", "x86-64-v2"), ("march", "x86-64-v3")
    }  # fmt: skip
    for (_, level), found_level in levels.items():
        assert found_level.effect.ratio == pytest.approx(WORTH[level], abs=1e-3)
        assert found_level.effect.n == 8
        assert found_level.significant
    terms = {row.term: row for row in found.table}
    assert list(terms) == ["optimisation", "march", "optimisation × march"]
    assert terms["optimisation"].p < 1e-9
    assert terms["optimisation × march"].p > 0.01
    assert [(row.df, row.df_error) for row in found.table] == [(1, 7), (2, 14), (2, 14)]


def test_factors_that_work_together() -> None:
    def figure(trial: Trial) -> float:
        levels = {level for _, level in trial.variant.levels}
        together = 0.97 if {"O3", "x86-64-v3"} <= levels else 1.0
        return 1e6 * factor(trial) * together * layout_noise(trial) * noise(trial)

    terms = {row.term: row for row in analysed(STUDY, figure).table}
    assert terms["optimisation × march"].p < 1e-6


def test_two_levels_are_a_paired_test() -> None:
    """Also where layouts do to one level what they do not do to the other."""

    def figure(trial: Trial) -> float:
        levels = dict(trial.variant.levels)
        seed = f"{levels['optimisation']} {trial.layout.seed}"
        return 1e6 * factor(trial) * (1 + 0.01 * (hash_of(seed) % 13)) * noise(trial)

    found = analysed(STUDY, figure)
    terms = {row.term: row for row in found.table}
    levels = {each.level: each.effect for each in found.levels}
    assert terms["optimisation"].p == pytest.approx(levels["O3"].p, rel=1e-6)
    assert terms["march"].p < 1e-9 < terms["optimisation"].p


def test_the_table_is_that_of_repeated_measures() -> None:
    """Of pingouin's two-way repeated-measures ANOVA, with layouts as subjects."""

    def figure(trial: Trial) -> float:
        return 1e6 * factor(trial) * layout_noise(trial) * noise(trial)

    result = judged(STUDY, figure)
    rows = [
        dict(item.trial.variant.levels)
        | {"layout": item.trial.layout_number, "y": log(figure(item.trial))}
        for item in result.measured
        if item.trial.layout_number
    ]
    frame = pd.DataFrame(rows).groupby(["layout", "optimisation", "march"]).mean().reset_index()
    expected = pingouin.rm_anova(
        frame, dv="y", within=["optimisation", "march"], subject="layout", detailed=True
    )
    found = result.factors[0].table
    for column, figures in (
        ("SS", [row.sum_of_squares for row in found]),
        ("F", [row.f for row in found]),
        (next(name for name in expected if name in ("p-unc", "p_unc")), [row.p for row in found]),
    ):
        assert figures == pytest.approx(list(expected[column]), rel=1e-6), column


def test_a_combination_that_is_not_there_is_left_out_and_named() -> None:
    """Its factors are judged by the others; nothing is made up."""

    def figure(trial: Trial) -> float:
        levels = {level for _, level in trial.variant.levels}
        broken = {"O3", "x86-64-v3"} <= levels
        return -1.0 if broken else 1e6 * factor(trial) * layout_noise(trial) * noise(trial)

    found = analysed(STUDY, figure)
    levels = {each.level: each.effect.ratio for each in found.levels}
    assert levels == pytest.approx(WORTH, abs=1e-3)
    assert [row.df for row in found.table] == [1, 2, 1]
    assert found.left_out == ("optimisation=O3 march=x86-64-v3",)
    assert found.layouts == 8


def test_labels_are_more_layouts_of_the_same_combination() -> None:
    study = replace(STUDY, factors=(("label", ("a", "b")), *STUDY.factors))
    found = analysed(study, lambda t: 1e6 * factor(t) * layout_noise(t) * noise(t))
    assert found.factors == ("optimisation", "march")
    assert found.layouts == 16


def test_one_zero_changes_all_figures_of_its_workload_alike() -> None:
    def figure(trial: Trial) -> float:
        zero = trial.variant.levels[0][1] == "O3" and trial.layout_number == 3
        return 0.0 if zero and trial.workload == "pipe" else 3.0

    found = analysed(STUDY, figure)
    (ratio,) = [each.effect.ratio for each in found.levels if each.level == "O3"]
    assert ratio == pytest.approx((0.5 / 3.5) ** (1 / 8 / 3))


def test_every_form_of_the_result_has_the_design(capsys: pytest.CaptureFixture[str]) -> None:
    result = judged(STUDY, lambda t: 1e6 * factor(t) * layout_noise(t) * noise(t))
    result = replace(result, prepared=replace(result.prepared, machine=open_machine("skylake")))
    document = replace(study_document(result), report="report.html")
    show(document, as_json=False)
    page, markdown = study_page(document), study_markdown(document)
    for form in (capsys.readouterr().out, page, markdown):
        assert "optimisation × march" in form
        assert "march: matters, corrected p = " in form
    assert "| model\\_cycles | march | x86-64-v3 | default | 0.95" in markdown
    assert "is a model" in markdown


@pytest.mark.parametrize("factors", [(), STUDY.factors[:1]])
def test_one_factor_is_no_design(factors: tuple[tuple[str, tuple[str, ...]], ...]) -> None:
    result = judged(replace(STUDY, factors=factors), lambda t: 1e6)
    assert result.factors == ()
