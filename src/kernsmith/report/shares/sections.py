# SPDX-License-Identifier: GPL-2.0-or-later
"""The parts of the result that the page and Markdown share."""

from __future__ import annotations

from collections.abc import Sequence

from kernsmith.document.shares import MixChangeView, SharesDocument, ShareView
from kernsmith.report.page import Column, Kind, Table, Text, Value, Verdict
from kernsmith.report.shares.words import (
    change_words,
    condition_words,
    function_words,
    p_words,
    verdict_sentence,
)

ALL, TOGETHER = "all that differ", "these together"


def answer(document: SharesDocument) -> list[Verdict | Text]:
    """The sentence, and what it is of."""
    return [
        Verdict(verdict_sentence(document), verdict_kind(document)),
        Text(condition_words(document)),
    ]


def verdict_kind(document: SharesDocument) -> Kind:
    """Which way the whole goes; less of a cost is better."""
    if document.whole is None or not document.top:
        return "neutral"
    return "better" if document.whole.change < 0 else "worse"


def tables(document: SharesDocument) -> list[Table]:
    """The objects that bring most, and what was measured besides."""
    found = []
    if document.top:
        sums: list[tuple[str, MixChangeView | None]] = [
            (TOGETHER, document.together), (ALL, document.whole)
        ]  # fmt: skip
        found.append(_table(document.top, "Objects that bring most", sums))
    if document.others:
        found.append(_table(document.others, "What was measured besides"))
    return found


def _table(
    views: Sequence[ShareView], caption: str, sums: Sequence[tuple[str, MixChangeView | None]] = ()
) -> Table:
    rows: list[list[Value]] = [
        [view.object, change_words(view), p_words(view), view.expected, function_words(view)]
        for view in views
    ]
    rows += [[name, change_words(view), None, None, None] for name, view in sums if view]
    columns = [
        Column("object"), Column("change over layouts"), Column("p"),
        Column("expected", "+.2f", "%"), Column("functions, and what is expected of them (%)"),
    ]  # fmt: skip
    return Table(columns, rows, caption)
