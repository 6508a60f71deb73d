# SPDX-License-Identifier: GPL-2.0-or-later
"""The whole of a factorial design, on made-up figures whose answer is known."""

import json
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from math import log

import numpy as np
import pytest
from rich.console import Console
from scipy import stats
from test_verdicts import hash_of, judged, layout_noise

from kernsmith.engine.document import study_document
from kernsmith.engine.factors import FactorAnalysis, analyse_factors
from kernsmith.machine.tcg import open_machine
from kernsmith.report.luck import add_luck
from kernsmith.report.study_markdown import study_markdown
from kernsmith.report.study_page import design_sections, study_page
from kernsmith.report.study_tables import print_study
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
    return 1 + 1e-4 * (hash_of(trial.variant.name + trial.layout.argument + trial.workload) % 11)


def analysed(study: Study, figure: Callable[[Trial], float]) -> FactorAnalysis:
    result = judged(study, figure)
    found = {a.metric: a for a in analyse_factors(result.prepared, result.measured)}
    assert list(found) == ["model_cycles", "kernel_instructions"]
    return found["model_cycles"]


def test_factors_that_work_independently() -> None:
    found = analysed(STUDY, lambda t: 1e6 * factor(t) * layout_noise(t) * noise(t))
    levels = {(each.factor, each.level): each.effect for each in found.levels}
    assert levels.keys() == {
        ("optimisation", "O3"), ("march", "x86-64-v2"), ("march", "x86-64-v3")
    }  # fmt: skip
    for (_, level), effect in levels.items():
        assert effect.ratio == pytest.approx(WORTH[level], abs=1e-3)
        assert effect.n == 8
        assert effect.significant
    terms = {row.term: row for row in found.table}
    assert list(terms) == ["optimisation", "march", "optimisation × march", "residual"]
    assert terms["optimisation"].p < 1e-9
    assert terms["optimisation × march"].p > 0.01
    assert [row.df for row in found.table] == [1, 2, 2, 7 * 5]


def test_factors_that_work_together() -> None:
    def figure(trial: Trial) -> float:
        levels = {level for _, level in trial.variant.levels}
        together = 0.97 if {"O3", "x86-64-v3"} <= levels else 1.0
        return 1e6 * factor(trial) * together * layout_noise(trial) * noise(trial)

    terms = {row.term: row for row in analysed(STUDY, figure).table}
    assert terms["optimisation × march"].p < 1e-9


def test_the_table_is_that_of_a_randomised_block_design() -> None:
    """Sums of squares by the textbook's formulas, with layouts as blocks."""

    def figure(trial: Trial) -> float:
        return 1e6 * factor(trial) * layout_noise(trial) * noise(trial)

    result = judged(STUDY, figure)
    found = analyse_factors(result.prepared, result.measured)[0]
    y = np.zeros((2, 3, 8))
    for item in result.measured:
        levels = dict(item.trial.variant.levels)
        layout = item.trial.layout_number
        if layout:
            a = STUDY.factors[0][1].index(levels["optimisation"])
            b = STUDY.factors[1][1].index(levels["march"])
            y[a, b, layout - 1] += log(figure(item.trial)) / 3
    mean = y.mean()
    a_means, b_means = y.mean(axis=(1, 2)), y.mean(axis=(0, 2))
    cells, blocks = y.mean(axis=2), y.mean(axis=(0, 1))
    of_a = 24 * ((a_means - mean) ** 2).sum()
    of_b = 16 * ((b_means - mean) ** 2).sum()
    of_both = 8 * ((cells - mean) ** 2).sum() - of_a - of_b
    error = ((y - cells[:, :, None] - blocks + mean) ** 2).sum()
    squares = [row.sum_of_squares for row in found.table]
    assert squares == pytest.approx([of_a, of_b, of_both, error], rel=1e-6)
    f = (of_b / 2) / (error / 35)
    assert found.table[1].f == pytest.approx(f, rel=1e-6)
    assert found.table[1].p == pytest.approx(stats.f.sf(f, 2, 35), rel=1e-6)


def test_a_combination_that_is_not_there_is_left_out() -> None:
    """Its factors are judged by the others; nothing is made up."""

    def figure(trial: Trial) -> float:
        levels = {level for _, level in trial.variant.levels}
        broken = {"O3", "x86-64-v3"} <= levels
        return -1.0 if broken else 1e6 * factor(trial) * layout_noise(trial) * noise(trial)

    found = analysed(STUDY, figure)
    levels = {each.level: each.effect.ratio for each in found.levels}
    assert levels == pytest.approx(WORTH, abs=1e-3)
    assert [row.df for row in found.table] == [1, 2, 1, 7 * 4]


def test_labels_have_layouts_of_their_own() -> None:
    study = replace(STUDY, factors=(("label", ("a", "b")), ("optimisation", ("O2", "O3"))))
    found = analysed(study, lambda t: 1e6 * factor(t) * layout_noise(t) * noise(t))
    assert {each.effect.paired for each in found.levels} == {False}
    assert found.table[-1].df == 4 * 7


def test_every_form_of_the_result_ends_with_the_design() -> None:
    result = judged(STUDY, lambda t: 1e6 * factor(t) * layout_noise(t) * noise(t))
    result = replace(result, prepared=replace(result.prepared, machine=open_machine("skylake")))
    document = add_luck(study_document(result)) | {"report": "report.html"}
    text = StringIO()
    print_study(document, Console(file=text, width=200))
    page, markdown = study_page(document), study_markdown(document, design_sections(document))
    for form in (text.getvalue(), page, markdown):
        assert "optimisation × march" in form
        assert "march: matters, p = " in form
        assert "residual" in form
    assert "| march | x86-64-v3 | default | 0.95" in markdown
    assert document["factors"][0]["terms"][-1]["p"] is None
    json.dumps(document, allow_nan=False)


@pytest.mark.parametrize("factors", [(), STUDY.factors[:1]])
def test_one_factor_is_no_design(factors: tuple[tuple[str, tuple[str, ...]], ...]) -> None:
    result = judged(replace(STUDY, factors=factors), lambda t: 1e6)
    assert analyse_factors(result.prepared, result.measured) == ()
