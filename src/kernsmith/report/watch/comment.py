# SPDX-License-Identifier: GPL-2.0-or-later
"""A history as Markdown, short enough for a pull request or a mail."""

from __future__ import annotations

from kernsmith.document import WatchDocument
from kernsmith.document.study import MODEL_CYCLES
from kernsmith.report.page import Bullets, Column, Section, Table, Text, Value
from kernsmith.report.plain import as_markdown
from kernsmith.report.study.silicon import caution
from kernsmith.report.watch.site import commit_link
from kernsmith.report.watch.words import change_words, name_of, summary

_MOST_CHANGES = 12


def watch_comment(document: WatchDocument) -> str:
    """The summary, the newest change points, and the newest revision against the oldest."""
    sections: list[Section] = [Text(f"{document.source}: {summary(document)}")]
    if document.change_points:
        sections.append(_change_points(document))
    if (more := len(document.change_points) - _MOST_CHANGES) > 0:
        sections.append(Text(f"and {more} more"))
    sections.append(_newest(document))
    failed = [f"{name_of(each)}: {each.failed}" for each in document.revisions if each.failed]
    if failed:
        sections.append(Bullets(failed))
    if document.metric == MODEL_CYCLES:
        sections.append(Text(caution(document.cpu, document.held)))
    return as_markdown(sections)


def _change_points(document: WatchDocument) -> Table:
    rows: list[list[Value]] = [
        [
            history.workload,
            change_words(change_point.change, change_point.ci),
            "worse" if change_point.worse else "better",
            name_of(document.revisions[change_point.revision]),
            commit_link(document, document.revisions[change_point.revision]),
            document.revisions[change_point.revision].commit.subject,
        ]
        for history, change_point in document.change_points[:_MOST_CHANGES]
    ]
    titles = ("workload", "change", "is", "since", "commit", "subject")
    return Table([Column(title) for title in titles], rows)


def _newest(document: WatchDocument) -> Table:
    last = len(document.revisions) - 1
    rows: list[list[Value]] = []
    for history in document.histories:
        point = next((each for each in history.points if each.revision == last), None)
        rows.append(
            [
                history.workload,
                change_words(point.change, point.ci) if point else None,
                point.default_change if point else None,
            ]
        )
    first, newest = document.revisions[0], document.revisions[-1]
    return Table(
        [Column("workload"), Column("over layouts"), Column("one binary of each, %", "+.2f")],
        rows,
        f"{name_of(newest)} against {name_of(first)}, {document.metric}",
    )
