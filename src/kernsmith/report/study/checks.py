# SPDX-License-Identifier: GPL-2.0-or-later
"""Layouts that were replayed, beside what booting them measured."""

from __future__ import annotations

from kernsmith.document import StudyDocument
from kernsmith.report.page import Bullets, Column, Details, Section, Table, Value

TITLE = "Replayed, checked by linking and booting"


def check_notes(document: StudyDocument) -> list[Section]:
    """What of the errors no replay can know: layouts that execute something else when booted."""
    notes = [each.note for each in document.checks if each.note]
    return [Bullets(notes)] if notes else []


def check_tables(document: StudyDocument) -> list[Table]:
    """All workloads together, then each; empty where every layout was booted."""
    if not document.checks:
        return []
    head = [Column("variant"), Column("layout")]
    figures = [
        Column("predicted", ".6g"), Column("measured", ".6g"), Column("error, %", "+.3f"),
        Column("instructions, %", "+.3f"), Column("error for each, %", "+.3f"),
    ]  # fmt: skip
    whole: list[list[Value]] = [
        [
            each.variant, each.layout,
            each.predicted, each.measured, each.error, each.more, each.error_each,
        ]
        for each in document.checks
    ]  # fmt: skip
    single: list[list[Value]] = [
        [
            each.variant, each.layout, one.workload,
            one.predicted, one.measured, one.error, one.more, one.error_each,
        ]
        for each in document.checks
        for one in each.workloads
    ]  # fmt: skip
    check = document.checks[0]
    luck = f" ({check.luck:.2g} % is the luck of a boot)" if check.luck else ""
    caption = (
        f"{TITLE}: model_cycles, geometric mean over workloads; instructions: what the booted "
        f"layout executes beyond what was traced; more than {check.limit:.3g} % apart for each of "
        f"them is an error{luck}"
    )
    return [
        Table([*head, *figures], whole, caption),
        Table([*head, Column("workload"), *figures], single, f"{TITLE}: model_cycles"),
    ]


def check_sections(document: StudyDocument) -> list[Section]:
    """The table of all workloads together, what no replay can know, and folded that of each."""
    tables = check_tables(document)
    if not tables:
        return []
    return [tables[0], *check_notes(document), Details("The same by workload", [tables[1]])]
