# SPDX-License-Identifier: GPL-2.0-or-later
"""The whole of a factorial design: each factor by itself, and how factors work together."""

from __future__ import annotations

from collections.abc import Sequence

from kernsmith.document import FactorsView, StudyDocument
from kernsmith.report.page import Bullets, Column, Heading, Section, Table, Value
from kernsmith.report.study.words import confidence, judgement

_INTERACTION = " × "


def design_sections(document: StudyDocument, *, all_metrics: bool = True) -> list[Section]:
    """Sentences on the study's own metric, and tables of that one or of all headline metrics.

    Empty for a study with one factor.
    """
    primary = [each for each in document.factors if each.metric == document.study.metric]
    shown = document.factors if all_metrics else primary
    if not shown:
        return []
    return [
        Heading("The whole design"),
        Bullets(_lines(primary, document.study.alpha, document.sample)),
        _level_table(document, shown),
        _term_table(shown, document.sample),
    ]


def _lines(analyses: Sequence[FactorsView], alpha: float, sample: str) -> list[str]:
    """Which factors matter, and which work together."""
    lines = []
    for analysis in analyses:
        terms = {
            term.term: p
            for term in analysis.terms
            if (p := term.p if term.p_corrected is None else term.p_corrected) is not None
        }
        together = {
            factor
            for name, p in terms.items()
            if _INTERACTION in name and p < alpha
            for factor in name.split(_INTERACTION)
        }
        for name, p in terms.items():
            if _INTERACTION in name:
                found = "they work together" if p < alpha else "no interaction to be seen"
            elif p < alpha:
                found = "matters"
            else:
                found = "on average no difference to be seen"
            also = "; it depends on the other factors" if name in together else ""
            lines.append(f"{name}: {found}{also}, corrected p = {p:.2g}")
        lines += [f"left out, too few good {sample}: {name}" for name in analysis.left_out]
    return lines


def _level_table(document: StudyDocument, analyses: Sequence[FactorsView]) -> Table:
    """Each factor by itself."""
    rows: list[list[Value]] = [
        [
            analysis.metric,
            each.factor,
            each.level,
            each.baseline,
            each.ratio,
            *(each.ci or (None, None)),
            each.p,
            judgement(each),
        ]
        for analysis in analyses
        for each in analysis.levels
    ]
    columns = [
        Column("metric"), Column("factor"), Column("level"), Column("against"),
        Column("ratio", ".4f"), Column("from", ".4f"), Column("to", ".4f"), Column("p", ".2g"),
        Column("verdict"),
    ]  # fmt: skip
    caption = (
        "Each factor by itself: geometric means over the levels of all others, "
        f"{confidence(document)} intervals"
    )
    return Table(columns, rows, caption)


def _term_table(analyses: Sequence[FactorsView], sample: str) -> Table:
    """All factors and their interactions."""
    rows: list[list[Value]] = [
        [
            analysis.metric,
            term.term,
            term.df,
            term.df_error,
            term.f,
            term.p,
            term.omega_squared,
        ]
        for analysis in analyses
        for term in analysis.terms
    ]
    columns = [
        Column("metric"), Column("term"), Column("df", "d"), Column("df of error", "d"),
        Column("F", ".4g"), Column("p", ".2g"), Column("partial ω²", ".3f"),
    ]  # fmt: skip
    caption = (
        f"All factors and their interactions: analysis of variance of the logarithms; {sample} are "
        "blocks, and each term is tested against its own interaction with them"
    )
    return Table(columns, rows, caption)
