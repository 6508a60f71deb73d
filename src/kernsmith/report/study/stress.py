# SPDX-License-Identifier: GPL-2.0-or-later
"""What each workload asks of the kernel, in a report."""

from __future__ import annotations

from kernsmith.document import StressView, StudyDocument
from kernsmith.report.page import Column, Details, Section, Table, Text, Value


def stress_sections(document: StudyDocument) -> list[Section]:
    """A folded table; none where nothing is known."""
    table = stress_table(document)
    if table is None:
        return []
    boots = (
        ", each with the luck of its boot; from the boot that executes fewest of the kernel's "
        "instructions to the one that executes most"
        if document.boots > 1
        else ""
    )
    text = Text(
        f"Of {document.baseline}: the part of all instructions that is the kernel's; from the "
        f"lowest to the highest random layout in {document.study.metric}{boots}; what one "
        "operation takes of that, mean over layouts; and the functions that "
        "are most of the kernel's instructions, or, of a workload without a trace, of the code "
        "that ran in its training."
    )
    return [Details(f"What each workload asks of the kernel ({len(table.rows)} rows)", [
        text, table,
    ])]  # fmt: skip


def stress_table(document: StudyDocument) -> Table | None:
    """The same by itself."""
    known = [each for each in document.stress if _is_known(each)]
    if not known:
        return None
    units = {each.name: each.unit for each in document.workloads}
    large = all(each.per_operation is None or each.per_operation >= 100 for each in known)
    several = document.boots > 1
    columns = [
        Column("workload"),
        Column("in the kernel", number=".0%"),
        Column(f"spread over layouts{' and boots' if several else ''}, %", number=".2f"),
        *([Column("over boots, %", number=".2f")] if several else []),
        Column(f"{document.study.metric} each", number=",.0f" if large else ",.4g"),
        Column("operation"),
        Column("hottest functions of the kernel"),
    ]
    rows: list[list[Value]] = [
        [
            each.workload,
            each.kernel_share,
            each.spread,
            *([each.spread_of_boots] if several else []),
            each.per_operation,
            units.get(each.workload, ""),
            _functions(each),
        ]
        for each in known
    ]
    return Table(columns, rows, caption="What each workload asks of the kernel")


def _is_known(stress: StressView) -> bool:
    return stress.kernel_share is not None or stress.spread is not None or bool(stress.functions)


def _functions(stress: StressView) -> str:
    return ", ".join(f"{each.name} {each.share:.0%}" for each in stress.functions) or "–"
