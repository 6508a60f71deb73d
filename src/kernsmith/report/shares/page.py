# SPDX-License-Identifier: GPL-2.0-or-later
"""The result as one self-contained HTML page, and as Markdown."""

from __future__ import annotations

from kernsmith.document.shares import SharesDocument, ShareView
from kernsmith.document.text import as_plain
from kernsmith.report.charts import Interval, forest_plot
from kernsmith.report.page import Chart, Details, Page, Section, render_page
from kernsmith.report.plain import as_markdown
from kernsmith.report.shares.sections import ALL, TOGETHER, answer, tables


def shares_page(document: SharesDocument) -> str:
    """The HTML of a result."""
    verdict, conditions = answer(document)
    sections: list[Section] = [verdict]
    if document.whole is not None:
        sections.append(_chart(document))
    sections.append(conditions)
    sections += [Details(table.caption, [table]) for table in tables(document)]
    return render_page(
        Page(
            title="kernsmith: blame",
            subtitle=f"{document.good.name} … {document.bad.name}",
            sections=sections,
            figures=as_plain(document),
        )
    )


def shares_markdown(document: SharesDocument) -> str:
    """The same for a commit message or a mailing list."""
    return as_markdown([*answer(document), *tables(document)])


def _chart(document: SharesDocument) -> Chart:
    lines = [_interval(view) for view in document.top if view.change is not None]
    for name, view in ((TOGETHER, document.together), (ALL, document.whole)):
        if view is not None:
            kind = _kind(view.low, view.high)
            lines.append(Interval(name, view.change, view.low, view.high, kind, overall=True))
    title = f"change of {document.metric} against {document.good.name} (%)"
    caption = (
        "Each object alone in the good kernel, with its corrected interval over layouts; square: "
        "what was expected of it from traces"
    )
    return Chart(forest_plot(lines, title), caption)


def _interval(view: ShareView) -> Interval:
    assert view.change is not None
    assert view.low is not None
    assert view.high is not None
    kind = _kind(view.low, view.high)
    return Interval(view.object, view.change, view.low, view.high, kind, mark=view.expected)


def _kind(low: float, high: float) -> str:
    return "better" if high < 0 else "worse" if low > 0 else "same"
