# SPDX-License-Identifier: GPL-2.0-or-later
"""Special kernels: each on what it was trained on, and on what the others were trained on."""

from __future__ import annotations

from kernsmith.document import StudyDocument, VerdictView
from kernsmith.document.study import OVERALL
from kernsmith.report.page import Column, Table, Value
from kernsmith.report.study.words import confidence, interval


def speciality_tables(document: StudyDocument) -> list[Table]:
    """One table: a row a variant, a column for the workloads of each level of the factor `train`.

    Empty for studies that do not vary what is trained on.
    """
    metric = document.study.metric
    cells = {name: document.specialities(name, metric) for name in document.others}
    columns = list(dict.fromkeys(level for row in cells.values() for level in row))
    if not columns:
        return []
    rows: list[list[Value]] = [
        [name, *(_cell(row.get(level)) for level in columns), _cell(_whole(document, name))]
        for name, row in cells.items()
    ]
    caption = (
        f"{metric}, ratio to {document.baseline}: what each kernel is worth to the workloads that "
        f"it, or another one, was made for; {confidence(document)} intervals, * marks what is "
        "significant"
    )
    return [Table([Column("variant"), *map(Column, [*columns, "whole mix"])], rows, caption)]


def _whole(document: StudyDocument, variant: str) -> VerdictView | None:
    mixes = document.verdicts_of(variant, document.study.metric, mixes=True)
    return next((verdict for verdict in mixes if verdict.workload == OVERALL), None)


def _cell(verdict: VerdictView | None) -> str:
    if verdict is None:
        return "–"
    mark = "*" if verdict.significant else ""
    bounds = f" ({interval(verdict.ci)})" if verdict.ci else ""
    return f"{verdict.ratio:.4f}{mark}{bounds}"
