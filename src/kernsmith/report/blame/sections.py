# SPDX-License-Identifier: GPL-2.0-or-later
"""The parts of the result that the page and Markdown share."""

from __future__ import annotations

from kernsmith.document import BlameDocument
from kernsmith.report.blame.words import (
    amount_words,
    change_of,
    condition_words,
    function_words,
    narrowed_words,
    verdict_sentence,
)
from kernsmith.report.page import Column, Kind, Section, Table, Text, Value, Verdict


def answer_sections(document: BlameDocument) -> list[Section]:
    """The sentence, what it is of, and the objects."""
    kind: Kind = "worse" if document.blamed else "neutral"
    sections: list[Section] = [Verdict(verdict_sentence(document), kind)]
    sections.append(Text(condition_words(document)))
    if document.blamed:
        sections.append(_blamed_table(document))
    if document.vmlinux:
        sections.append(Text(f"The mixed kernel with what is to blame: {document.vmlinux}"))
    return sections


def test_table(document: BlameDocument) -> Table:
    """Every mixed kernel in the order in which they were judged."""
    rows: list[list[Value]] = [
        [
            test.number,
            amount_words(test),
            test.verdict,
            change_of(test),
            test.layouts or None,
            test.reason,
            test.seconds or None,
        ]
        for test in document.tests
    ]
    columns = [
        Column("test", "d"), Column("of the bad kernel"), Column("verdict"),
        Column("change over layouts"), Column("layouts", "d"), Column("reason"),
        Column("took", ".1f", "s"),
    ]  # fmt: skip
    return Table(columns, rows, "Every mixed kernel")


def _blamed_table(document: BlameDocument) -> Table:
    rows: list[list[Value]] = [
        [view.object, narrowed_words(view) or None, function_words(view) or None]
        for view in document.blamed
    ]
    columns = [
        Column("object"), Column("functions to blame"), Column("functions whose code differs"),
    ]  # fmt: skip
    return Table(columns, rows, "To blame")
