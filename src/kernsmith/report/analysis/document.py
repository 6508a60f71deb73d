# SPDX-License-Identifier: GPL-2.0-or-later
"""From an analysis to its document: every figure as it is, and the sentences."""

from __future__ import annotations

from dataclasses import fields

from kernsmith.document.analysis import Analysis, Check, StratumAnalysis
from kernsmith.report.analysis.words import check_sentence, method_reason, verdict_sentences
from kernsmith.stats import analysis as statistics
from kernsmith.stats import assumptions
from kernsmith.stats.analysis import Options


def in_words(found: statistics.Analysis) -> Analysis:
    """The document of an analysis."""
    strata = tuple(_stratum(each, found.options) for each in found.strata)
    return Analysis(found.options, strata, found.across, found.notes)


def _stratum(found: statistics.StratumAnalysis, options: Options) -> StratumAnalysis:
    figures = {field.name: getattr(found, field.name) for field in fields(found)}
    words = {
        "verdict": verdict_sentences(found, options),
        "checks": tuple(_check(each, found) for each in found.checks),
        "reason": method_reason(found),
    }
    return StratumAnalysis(**{**figures, **words})


def _check(check: assumptions.Check, found: statistics.StratumAnalysis) -> Check:
    told = check_sentence(check, found)
    return Check(check.name, check.test, check.figure, check.p, check.standing, told)
