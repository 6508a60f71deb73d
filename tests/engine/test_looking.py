# SPDX-License-Identifier: GPL-2.0-or-later
"""Studies that go on until it is clear, in which nothing differs: what the command says of them."""

from dataclasses import replace

import numpy as np
from scipy import stats
from test_result_forms import document_of
from test_verdicts import OPTIMIZE

from kernsmith.cli.compare import is_regression
from kernsmith.study import Design, Trial

STUDIES = 40
LOOKS = (4, 6, 9, 13, 19)
UNTIL = Design(until=0.5, most_layouts=19)


def test_looking_at_a_study_again_and_again_finds_nothing_where_nothing_is() -> None:
    """Each study is looked at after every batch of layouts that `--until` adds.

    Headline, sentence and exit code are what the document says: of 40 A/A studies 5 % at most ever
    say more than "no significant difference", within two standard errors of so many.
    """
    random = np.random.default_rng(15)
    headline, regressions, fixed = 0, 0, 0
    for _ in range(STUDIES):
        noise = np.exp(random.normal(0, 0.01, (2, 3, LOOKS[-1] + 1)))
        said = [look(noise, layouts) for layouts in LOOKS]
        headline += any(significant for significant, _, _ in said)
        regressions += any(regression for _, regression, _ in said)
        fixed += any(p < 0.05 for _, _, p in said)
    most = 0.05 + 2 * (0.05 * 0.95 / STUDIES) ** 0.5
    assert headline / STUDIES <= most
    assert regressions <= headline
    assert fixed / STUDIES > most


def look(noise: np.ndarray, layouts: int) -> tuple[bool, bool, float]:
    """Whether the first sentence finds something, whether `--fail-above 0%` fails, and the p-value
    of the same figures as if there had been no other look."""

    def figure(trial: Trial) -> float:
        workload = ("pipe", "fork", "mmap").index(trial.workload)
        return float(1e6 * noise[int(bool(trial.variant.steps)), workload, trial.layout_number])

    study = replace(OPTIMIZE, design=replace(UNTIL, layouts=layouts))
    document = document_of(study, figure)
    (verdict,) = (
        v for v in document.verdicts if v.workload == "overall" and v.metric == "model_cycles"
    )
    ratios = np.log(noise[1] / noise[0]).mean(axis=0)[1 : layouts + 1]
    alone = float(stats.ttest_1samp(ratios, 0.0).pvalue)
    assert verdict.always_valid
    assert ("no significant difference" in verdict.sentence) is not verdict.significant
    return verdict.significant, is_regression(document, 0.0), alone


def test_headline_and_look_are_the_same_figures() -> None:
    def figure(trial: Trial) -> float:
        change = 0.9 + 0.001 * trial.layout_number if trial.variant.steps else 1.0
        return 1e6 * change

    study = replace(OPTIMIZE, design=replace(UNTIL, layouts=12))
    document = document_of(study, figure)
    (sequential,) = document.sequential
    verdict = document.verdicts[0]
    assert (verdict.workload, verdict.metric) == ("overall", "model_cycles")
    assert (verdict.ratio, verdict.ci, verdict.p, verdict.n) == (
        sequential.ratio, sequential.ci, sequential.p, sequential.n
    )  # fmt: skip
    assert verdict.significant
    assert "always-valid CI" in verdict.sentence
