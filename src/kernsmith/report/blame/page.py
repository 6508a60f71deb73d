# SPDX-License-Identifier: GPL-2.0-or-later
"""The result as one self-contained HTML page, and as Markdown."""

from __future__ import annotations

from math import nan

from kernsmith.document import BlameDocument
from kernsmith.document.text import as_plain
from kernsmith.report.blame.sections import answer_sections, test_table
from kernsmith.report.blame.words import amount_words
from kernsmith.report.charts import Interval, forest_plot
from kernsmith.report.page import Chart, Details, Page, Section, Table, render_page
from kernsmith.report.plain import as_markdown

_COLOURS = {"bad": "worse", "good": "same", "unresolved": "same"}


def blame_page(document: BlameDocument) -> str:
    """The HTML of a search."""
    sections: list[Section] = [
        Details(part.caption, [part]) if isinstance(part, Table) else part
        for part in answer_sections(document)
    ]
    if document.metric:
        sections.insert(1, _chart(document))
    sections.append(Details("Every mixed kernel", [test_table(document)]))
    return render_page(
        Page(
            title="kernsmith: blame",
            subtitle=f"{document.good.name} … {document.bad.name}",
            sections=sections,
            figures=as_plain(document),
        )
    )


def blame_markdown(document: BlameDocument) -> str:
    """The same for a commit message or a mailing list."""
    sections: list[Section] = [*answer_sections(document), test_table(document)]
    return as_markdown(sections)


def _chart(document: BlameDocument) -> Chart:
    lines = [
        Interval(
            f"{test.verdict}: {amount_words(test)}",
            test.change,
            nan if test.low is None else test.low,
            nan if test.high is None else test.high,
            kind=_COLOURS[test.verdict],
            overall=test.taken == document.suspects and test.functions is None,
        )
        for test in document.tests
        if test.change is not None
    ]
    title = f"change of {document.metric} against {document.good.name} (%)"
    return Chart(
        forest_plot(lines, title, reference=document.limit or 0.0),
        "Each mixed kernel with its always-valid interval over layouts; dashed: from where on it "
        "counts as bad",
    )
