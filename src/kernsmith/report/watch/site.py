# SPDX-License-Identifier: GPL-2.0-or-later
"""A history as a site: a page for all workloads and one for each, which any server can host.

Links lead from page to page by their names, to the study's report below `study/`, and to commits
where a pattern for their addresses is known. What draws the charts is a file that all pages share.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import quote

from kernsmith.document import HistoryView, RevisionView, WatchDocument
from kernsmith.document.study import MODEL_CYCLES
from kernsmith.document.text import as_plain
from kernsmith.report.page import (
    Chart,
    Column,
    Details,
    Kind,
    Link,
    Page,
    Section,
    Table,
    Text,
    Value,
    Verdict,
    render_page,
)
from kernsmith.report.study.silicon import caution_sections
from kernsmith.report.vega import charts_script
from kernsmith.report.watch.chart import history_chart
from kernsmith.report.watch.words import (
    HASH_SHOWN,
    change_sentence,
    change_words,
    name_of,
    summary,
)

INDEX = "index.html"
_CHARTS = "charts.js"


def site_files(document: WatchDocument) -> Mapping[str, str]:
    """The texts of the pages, and of what they share, by their files' names."""
    pages = {INDEX: index_page(document, _CHARTS), _CHARTS: charts_script()}
    pages |= {page_name(each.workload): _workload(document, each) for each in document.histories}
    return pages


def page_name(workload: str) -> str:
    """The file of a workload's page."""
    return f"{workload}.html"


def commit_link(document: WatchDocument, revision: RevisionView) -> Value:
    """The beginning of the hash; it leads to the commit where that is known."""
    short = revision.commit.id[:HASH_SHOWN]
    if not document.commit_url:
        return short
    words = {"%s": revision.commit.id, "%t": quote(revision.name, safe="")}
    return Link(short, re.sub("%[st]", lambda found: words[found[0]], document.commit_url))


def _kind(document: WatchDocument) -> Kind:
    if not document.change_points:
        return "neutral"
    return (
        "worse"
        if any(change_point.worse for _, change_point in document.change_points)
        else "better"
    )


def index_page(document: WatchDocument, charts_file: str = "") -> str:
    """The page of all workloads. charts_file: see `Page`; without one it is whole by itself."""
    first, last = document.revisions[0], document.revisions[-1]
    sections: list[Section] = [Verdict(summary(document), _kind(document))]
    if document.change_points:
        sections.append(_change_table(document))
    if document.histories:
        sections.append(_chart(document, document.histories[0]))
    sections.append(_workload_table(document))
    if document.report:
        sections.append(Table([Column("the study")], [[Link("its report", document.report)]]))
    sections.append(Details("Revisions", [_revision_table(document)]))
    if document.failures:
        sections += [Text(failure) for failure in document.failures]
    if document.metric == MODEL_CYCLES:
        sections += caution_sections(document.cpu, document.held)
    return render_page(
        Page(
            title=f"kernsmith: {document.source}",
            subtitle=f"{name_of(first)} … {name_of(last)}, {document.config}",
            sections=sections,
            figures=as_plain(replace(document, site="")),
            footer=[f"kernsmith {document.kernsmith}"],
            charts_file=charts_file,
        )
    )


def _workload(document: WatchDocument, history: HistoryView) -> str:
    sections: list[Section] = []
    for change_point in reversed(history.change_points):
        kind: Kind = "worse" if change_point.worse else "better"
        sections.append(Verdict(change_sentence(document, history, change_point), kind))
    if not history.change_points:
        sections.append(Verdict("Nothing has changed that layout could not fake.", "neutral"))
    sections.append(_chart(document, history))
    sections.append(_point_table(document, history))
    sections.append(Table([Column("more")], [[Link("all workloads", INDEX)]]))
    return render_page(
        Page(
            title=f"kernsmith: {history.workload}",
            subtitle=f"{document.source}, {document.config}",
            sections=sections,
            figures=as_plain(history),
            footer=[f"kernsmith {document.kernsmith}"],
            charts_file=_CHARTS,
        )
    )


def _chart(document: WatchDocument, history: HistoryView) -> Section:
    if not history.points:
        return Text(f"{history.workload}: no revision has figures.")
    title = f"{document.metric}, change in % of {name_of(document.revisions[0])}"
    return Chart(
        history_chart(history, document.revisions, title),
        f"{history.workload}: each revision over {history.layouts} layouts with its "
        f"{100 * (1 - document.alpha):g} % interval; dashed: the mean of a stretch between "
        "change points; squares: what one binary of each says",
    )


def _change_table(document: WatchDocument) -> Table:
    rows: list[list[Value]] = [
        [
            Link(history.workload, page_name(history.workload)),
            change_words(change_point.change, change_point.ci),
            "worse" if change_point.worse else "better",
            name_of(document.revisions[change_point.revision]),
            commit_link(document, document.revisions[change_point.revision]),
            document.revisions[change_point.revision].commit.subject,
            name_of(document.revisions[change_point.before]),
            change_point.p,
        ]
        for history, change_point in document.change_points
    ]
    columns = [
        Column("workload"), Column("change"), Column("is"), Column("since"), Column("commit"),
        Column("subject"), Column("measured before"), Column("p, corrected", ".2g"),
    ]  # fmt: skip
    return Table(columns, rows, "Where it has changed, the newest first")


def _workload_table(document: WatchDocument) -> Table:
    rows: list[list[Value]] = [
        [
            Link(history.workload, page_name(history.workload)),
            change_words(history.points[-1].change, history.points[-1].ci)
            if history.points
            else None,
            history.points[-1].default_change if history.points else None,
            len(history.change_points),
        ]
        for history in document.histories
    ]
    columns = [
        Column("workload"), Column("newest against oldest"),
        Column("one binary of each", "+.2f", "%"), Column("change points", "d"),
    ]  # fmt: skip
    return Table(columns, rows, f"{document.metric} over the whole range")


def _revision_table(document: WatchDocument) -> Table:
    rows: list[list[Value]] = [
        [
            name_of(each),
            commit_link(document, each),
            each.commit.subject,
            each.commit.date,
            each.failed or "measured",
        ]
        for each in document.revisions
    ]
    columns = [Column(title) for title in ("revision", "commit", "subject", "date", "state")]
    return Table(columns, rows)


def _point_table(document: WatchDocument, history: HistoryView) -> Table:
    changed = {change_point.revision: change_point for change_point in history.change_points}
    rows: list[list[Value]] = []
    for point in reversed(history.points):
        revision = document.revisions[point.revision]
        change_point = changed.get(point.revision)
        rows.append(
            [
                name_of(revision),
                commit_link(document, revision),
                revision.commit.subject,
                point.figure,
                change_words(point.change, point.ci),
                point.default_change,
                change_words(change_point.change, change_point.ci) if change_point else "",
            ]
        )
    columns = [
        Column("revision"), Column("commit"), Column("subject"),
        Column(document.metric, ".6g", document.unit), Column("against the oldest"),
        Column("one binary of each", "+.2f", "%"), Column("change point"),
    ]  # fmt: skip
    return Table(columns, rows, "Revisions, the newest first")
