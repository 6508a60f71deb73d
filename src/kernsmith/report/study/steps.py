# SPDX-License-Identifier: GPL-2.0-or-later
"""How long each step of a study took."""

from __future__ import annotations

from kernsmith.document import StepTimeView, StudyDocument
from kernsmith.report.page import Column, Details, Section, Table, Text
from kernsmith.report.plan_tables import duration

_SHORT = 1.0
_MOST_WORDS = 4


def steps_sections(document: StudyDocument) -> list[Section]:
    """A folded table; none where nothing took a second."""
    steps = _told(document)
    if not steps:
        return []
    columns = [Column("step"), Column("time"), Column("seconds", number=".0f")]
    rows: list[list[str | float | None]] = [
        [each.title, duration(each.seconds), each.seconds] for each in steps
    ]
    text = Text(
        "One after the other; what was done beside a step (training, links and replays while a "
        "kernel was compiled) is in its time. What the caches and the ledger had took none."
    )
    return [Details("How long each step took", [text, Table(columns, rows, "Steps")])]


def took(document: StudyDocument) -> str:
    """The whole, and in brackets the steps that took most of it; empty where it is not known."""
    if document.seconds is None:
        return ""
    longest = sorted(_told(document), key=lambda each: -each.seconds)[:_MOST_WORDS]
    words = [
        f"{each.title} {duration(each.seconds)}"
        for each in longest
        if each.seconds >= document.seconds / 20
    ]
    return f"took {duration(document.seconds)}" + (f": {', '.join(words)}" if words else "")


def _told(document: StudyDocument) -> list[StepTimeView]:
    return [each for each in document.steps if each.seconds >= _SHORT]
