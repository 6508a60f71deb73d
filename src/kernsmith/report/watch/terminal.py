# SPDX-License-Identifier: GPL-2.0-or-later
"""A history in the terminal."""

from __future__ import annotations

from rich.console import Console

from kernsmith.document import WatchDocument
from kernsmith.document.study import MODEL_CYCLES
from kernsmith.report.study.silicon import caution
from kernsmith.report.terminal import add_texts, say, text_table
from kernsmith.report.watch.words import (
    change_sentence,
    change_words,
    name_of,
    summary,
)

# Columns behind the subject, and what lies between columns.
_FIGURES = 58


def print_watch(document: WatchDocument, console: Console) -> None:
    """Print each revision over all workloads, and every change point."""
    if document.histories:
        history = document.histories[0]
        oldest = name_of(document.revisions[0])
        title = f"{history.workload}: {document.metric} against {oldest}"
        table = text_table(title)
        table.add_column("revision", no_wrap=True)
        table.add_column("subject", no_wrap=True)
        for name, width in (("change over layouts", 24), ("one binary", 10), ("change", 8)):
            table.add_column(name, justify="right", no_wrap=True, min_width=width)
        names = max(len(name_of(revision)) for revision in document.revisions)
        room = max(console.width - names - _FIGURES, 8)
        points = {point.revision: point for point in history.points}
        change_points = {
            change_point.revision: change_point for change_point in history.change_points
        }
        for number, revision in enumerate(document.revisions):
            point, change_point = points.get(number), change_points.get(number)
            binary = point.default_change if point else None
            cells = [
                name_of(revision),
                _cut(revision.commit.subject, room),
                change_words(point.change, point.ci) if point else "–",
                "–" if binary is None else f"{binary:+.2f} %",
                f"{change_point.change:+.2f} %" if change_point else "",
            ]
            add_texts(table, cells)
        console.print(table)
    for history, change_point in document.change_points:
        say(console, change_sentence(document, history, change_point))
    say(console, summary(document))
    for failure in document.failures:
        say(console, failure)
    if document.metric == MODEL_CYCLES:
        say(console, f"caution: {caution(document.cpu, document.held)}")
    say(console, f"site     {document.site}")


def _cut(text: str, room: int) -> str:
    return text if len(text) <= room else f"{text[: room - 1]}…"
