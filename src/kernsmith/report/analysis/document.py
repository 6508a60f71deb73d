# SPDX-License-Identifier: GPL-2.0-or-later
"""An analysis as a document: its figures with the sentences that say what they mean.

The classes have the names that docs/analyze.schema.json gives them.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from kernsmith.report.analysis.words import check_sentence, method_reason, verdict_sentences
from kernsmith.stats import analysis as statistics
from kernsmith.stats import assumptions
from kernsmith.stats.analysis import GroupFigures, Options, PairAcross, Sensitivity
from kernsmith.stats.anova import OneWay, Test
from kernsmith.stats.assumptions import Outlier, Standing
from kernsmith.stats.factorial import FactorialRow
from kernsmith.stats.pairwise import Comparison, Method


@dataclass(frozen=True)
class Check:
    """One assumption.

    figure: the statistic, named by ``test``. standing: `unknown` when it cannot be tested.
    sentence: what it means for the reader.
    """

    name: str
    test: str
    figure: float
    p: float
    standing: Standing
    sentence: str


@dataclass(frozen=True)
class StratumAnalysis:
    """All figures of one stratum.

    method, reason: which intervals the comparisons have, and why.
    p: of the test that the groups are all alike, Fisher's or Welch's by ``method``; p_holm: the
    same corrected over all strata.
    """

    name: str | None
    groups: tuple[GroupFigures, ...]
    verdict: tuple[str, ...]
    checks: tuple[Check, ...]
    outliers: tuple[Outlier, ...]
    anova: OneWay | None
    welch: Test
    kruskal_wallis: Test
    factorial: tuple[FactorialRow, ...]
    method: Method
    reason: str
    p: float
    p_holm: float
    comparisons: tuple[Comparison, ...]
    sensitivity: Sensitivity | None
    ministat: tuple[str, ...]


@dataclass(frozen=True)
class Analysis:
    """The result. notes: what was left out of the data or understood in a certain way."""

    options: Options
    strata: tuple[StratumAnalysis, ...]
    across: tuple[PairAcross, ...]
    notes: tuple[str, ...]


def in_words(found: statistics.Analysis) -> Analysis:
    """The document of an analysis."""
    strata = tuple(_stratum(each, found.options) for each in found.strata)
    return Analysis(found.options, strata, found.across, found.notes)


def _stratum(found: statistics.StratumAnalysis, options: Options) -> StratumAnalysis:
    figures = {field.name: getattr(found, field.name) for field in fields(found)}
    words = {
        "verdict": verdict_sentences(found, options),
        "checks": tuple(_check(each) for each in found.checks),
        "reason": method_reason(found),
    }
    return StratumAnalysis(**{**figures, **words})


def _check(found: assumptions.Check) -> Check:
    return Check(
        found.name, found.test, found.figure, found.p, found.standing, check_sentence(found)
    )
