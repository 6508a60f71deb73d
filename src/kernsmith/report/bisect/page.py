# SPDX-License-Identifier: GPL-2.0-or-later
"""A bisection's result as one self-contained HTML page."""

from __future__ import annotations

from math import nan

from kernsmith.document import BisectDocument, StepView
from kernsmith.document.study import MODEL_CYCLES
from kernsmith.document.text import as_plain
from kernsmith.report.bisect.words import HASH_SHOWN, bad_words, change_words, verdict_sentence
from kernsmith.report.charts import Interval, forest_plot
from kernsmith.report.page import (
    Chart,
    Code,
    Column,
    Details,
    Kind,
    Page,
    Section,
    Table,
    Text,
    Value,
    Verdict,
    render_page,
)
from kernsmith.report.study.luck import luck_lines
from kernsmith.report.study.silicon import caution_sections
from kernsmith.report.study.words import headline

_DECISION_COLOURS = {"bad": "worse", "good": "same", "skip": "same"}


def bisect_page(document: BisectDocument) -> str:
    """The HTML of a bisection."""
    kind: Kind = "worse" if len(document.first_bad) == 1 else "neutral"
    sections: list[Section] = [Verdict(verdict_sentence(document), kind)]
    sections += _verdict_sections(document)
    sections.append(_chart(document))
    details: list[Section] = [_step_table(_steps(document))]
    if document.log:
        details.append(Code(document.log, "git bisect log"))
    sections.append(Details("Every step", details))
    if document.metric == MODEL_CYCLES:
        sections += caution_sections(document.cpu, document.held)
    good, bad = document.good, document.bad
    return render_page(
        Page(
            title="kernsmith: bisect",
            subtitle=f"{_name(good.id, good.subject)} … {_name(bad.id, bad.subject)}",
            sections=sections,
            figures=as_plain(document),
        )
    )


def _steps(document: BisectDocument) -> list[StepView]:
    """The bad revision and every tested commit, each once."""
    steps = {step.commit: step for step in (document.whole, *document.steps)}
    return list(steps.values())


def _verdict_sections(document: BisectDocument) -> list[Section]:
    if not document.verdict:
        return []
    sections: list[Section] = []
    for variant in document.verdict.others:
        sections += [Text(line) for _, line in headline(document.verdict, variant)]
        sections += [
            Text(f"{line[0].upper()}{line[1:]}") for line in luck_lines(document.verdict, variant)
        ]
    return sections


def _chart(document: BisectDocument) -> Chart:
    lines = [
        Interval(
            f"{step.decision}: {_name(step.commit, step.subject)}",
            step.change,
            nan if step.low is None else step.low,
            nan if step.high is None else step.high,
            kind=_DECISION_COLOURS[step.decision],
            overall=step.commit == document.bad.id,
            mark=step.default_change,
        )
        for step in _steps(document)
        if step.change is not None
    ]
    title = f"change of {document.metric} against {document.good.id[:HASH_SHOWN]} (%)"
    return Chart(
        forest_plot(lines, title, reference=document.threshold),
        "Each tested commit with its always-valid interval; the square is what one binary of each "
        f"said; dashed: {bad_words(document)}",
    )


def _step_table(steps: list[StepView]) -> Table:
    rows: list[list[Value]] = [
        [
            step.commit[:HASH_SHOWN],
            step.subject,
            change_words(step),
            step.layouts or None,
            step.default_change,
            step.instructions_change,
            step.decision,
            step.reason,
        ]
        for step in steps
    ]
    columns = [
        Column("commit"), Column("subject"), Column("change over layouts"), Column("layouts", "d"),
        Column("one binary said", "+.2f", "%"), Column("instructions", "+.2f", "%"),
        Column("decision"), Column("reason"),
    ]  # fmt: skip
    return Table(columns, rows, "Each commit against the good one")


def _name(commit: str, subject: str) -> str:
    return f"{commit[:HASH_SHOWN]} {subject}"
