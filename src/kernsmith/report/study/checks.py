# SPDX-License-Identifier: GPL-2.0-or-later
"""Layouts that were replayed, beside what booting them measured."""

from __future__ import annotations

from kernsmith.document import StudyDocument
from kernsmith.report.page import Column, Details, Section, Table, Value

TITLE = "Replayed, checked by linking and booting"


def check_tables(document: StudyDocument) -> list[Table]:
    """All workloads together, then each; empty where every layout was booted."""
    if not document.checks:
        return []
    head = [Column("variant"), Column("layout")]
    figures = [
        Column("predicted", ".6g"), Column("measured", ".6g"), Column("error, %", "+.3f"),
    ]  # fmt: skip
    whole: list[list[Value]] = [
        [each.variant, each.layout, each.predicted, each.measured, each.error]
        for each in document.checks
    ]
    single: list[list[Value]] = [
        [each.variant, each.layout, one.workload, one.predicted, one.measured, one.error]
        for each in document.checks
        for one in each.workloads
    ]
    limit = document.checks[0].limit
    caption = (
        f"{TITLE}: model_cycles, geometric mean over workloads; more than {limit:g} % apart is an "
        "error"
    )
    return [
        Table([*head, *figures], whole, caption),
        Table([*head, Column("workload"), *figures], single, f"{TITLE}: model_cycles"),
    ]


def check_sections(document: StudyDocument) -> list[Section]:
    """The table of all workloads together, and folded that of each."""
    tables = check_tables(document)
    return [tables[0], Details("The same by workload", [tables[1]])] if tables else []
