# SPDX-License-Identifier: GPL-2.0-or-later
"""What `kernsmith analyze` tells: figures beside the sentences that say what they mean.

`stats.analysis` has values of the same figures by themselves. They are two: the statistics know no
words, and docs/analyze.schema.json, whose names these classes have, wants each sentence beside its
figures, in this order. What both call the same is copied by name (`report.analysis.document`).
"""

from __future__ import annotations

from dataclasses import dataclass

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
    p: of the test that the groups are all alike, Fisher's or Welch's by ``method``, Kruskal-Wallis
    where Welch's lacks a spread in some group; p_holm: the same corrected over all strata.
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
