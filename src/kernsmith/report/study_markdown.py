# SPDX-License-Identifier: GPL-2.0-or-later
"""A study's result as Markdown: for a commit message, a mailing list, a page of documentation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kernsmith.report.luck import OVERALL
from kernsmith.report.page import Bullets, Column, Section, Table, Value
from kernsmith.report.plain import as_markdown
from kernsmith.report.study_tables import (
    Document,
    baseline,
    confidence,
    headline,
    judgement,
    others,
    sequential,
)


def study_markdown(document: Document, design: Sequence[Section]) -> str:
    """The verdicts of a study document (see `engine.document`), without runs and provenance.

    design: the sections about the whole of a factorial design.
    """
    lines = [line for variant in others(document) for _, line in headline(document, variant)]
    sections = [
        Bullets([*lines, *sequential(document)]),
        _overall_table(document),
        _workload_table(document),
        *_spread_tables(document),
        *design,
        *([Bullets(list(document["failures"]))] if document["failures"] else []),
    ]
    return as_markdown(sections)


def _overall_table(document: Document) -> Table:
    headlines = [metric["name"] for metric in document["metrics"] if metric["headline"]]
    rows: list[list[Value]] = [
        [
            verdict["variant"],
            verdict["metric"],
            verdict["ratio"],
            *(verdict["ci"] or (None, None)),
            verdict["p"],
            verdict["layout_share"],
            verdict["default_ratio"],
            judgement(verdict),
        ]
        for verdict in document["verdicts"]
        if verdict["workload"] == OVERALL and verdict["metric"] in headlines
    ]
    columns = [
        Column("variant"), Column("metric"), Column("ratio", ".4f"), Column("from", ".4f"),
        Column("to", ".4f"), Column("p", ".2g"), Column("layout's share", ".0%"),
        Column("one binary said", ".4f"), Column("verdict"),
    ]  # fmt: skip
    caption = (
        f"All workloads together, relative to {baseline(document)}: geometric means over random "
        f"layouts, {confidence(document)} intervals"
    )
    return Table(columns, rows, caption)


def _workload_table(document: Document) -> Table:
    metric, names = document["study"]["metric"], others(document)
    cells: dict[str, dict[str, str]] = {}
    for verdict in document["verdicts"]:
        if verdict["metric"] == metric:
            mark = "*" if verdict["significant"] else ""
            row = cells.setdefault(verdict["workload"], {})
            row[verdict["variant"]] = f"{verdict['ratio']:.4f}{mark}"
    rows: list[list[Value]] = [
        [workload, *(row.get(name) for name in names)]
        for workload, row in sorted(cells.items(), key=lambda item: (item[0] != OVERALL, item[0]))
    ]
    caption = f"{metric} by workload; * marks what is significant"
    return Table([Column("workload"), *map(Column, names)], rows, caption)


def _spread_tables(document: Document) -> list[Table]:
    """How far layout alone moves each kernel."""
    metric = document["study"]["metric"]
    mine = (each for each in document["luck"] if each["metric"] == metric)
    spread: Mapping[str, Sequence[float]] = next((each["spread"] for each in mine), {})
    columns = [Column("variant"), Column("lowest, %", "+.2f"), Column("highest, %", "+.2f")]
    rows: list[list[Value]] = [[name, low, high] for name, (low, high) in spread.items()]
    caption = f"{metric} of the lowest and the highest random layout, against the mean of all"
    return [Table(columns, rows, caption)] if spread else []
