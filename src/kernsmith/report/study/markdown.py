# SPDX-License-Identifier: GPL-2.0-or-later
"""A study's result as Markdown: for a commit message, a mailing list, a page of documentation."""

from __future__ import annotations

from collections.abc import Sequence

from kernsmith.document import StudyDocument
from kernsmith.document.study import MODEL_CYCLES, OVERALL
from kernsmith.report.page import Bullets, Column, Heading, Section, Table, Text, Value
from kernsmith.report.plain import as_markdown
from kernsmith.report.study.attribution import attribution_notes
from kernsmith.report.study.checks import check_notes, check_tables
from kernsmith.report.study.design import design_sections
from kernsmith.report.study.machines import pair_lines, pair_tables
from kernsmith.report.study.noise import noise_lines
from kernsmith.report.study.proved import proved_lines
from kernsmith.report.study.silicon import caution_sections
from kernsmith.report.study.specialities import speciality_tables
from kernsmith.report.study.stress import stress_table
from kernsmith.report.study.verified import verified_lines
from kernsmith.report.study.words import (
    confidence,
    harmed,
    headline,
    judgement,
    modelled,
    name_of_model,
    sequential,
    words_of_model,
)


def study_markdown(document: StudyDocument) -> str:
    """A study's document (see `report.study.document`), without single runs and provenance."""
    lines = [
        line
        for variant in document.others
        for line in (
            *(words for _, words in headline(document, variant)),
            harmed(document, variant),
        )
        if line
    ]
    sections: list[Section] = [Text(_conditions(document))]
    if lines:
        lines += [*verified_lines(document), *proved_lines(document)]
        lines += [*(line for _, line in sequential(document))]
        sections += [Bullets(lines)]
        sections += [_overall_table(document), *speciality_tables(document)]
        sections += [_workload_table(document)]
    if document.pair:
        sections += [Bullets(pair_lines(document)), *pair_tables(document)]
    sections += [*_spread_tables(document), *check_tables(document)[:1], *check_notes(document)]
    if said := noise_lines(document):
        sections.append(Bullets(said))
    sections += [*attribution_notes(document), *design_sections(document)]
    if asked := stress_table(document):
        sections.append(asked)
    if document.remarks:
        sections += [Heading("What is otherwise than asked"), Bullets(document.remarks)]
    if document.failures:
        failures = [" ".join(failure.split()) for failure in document.failures]
        sections += [Heading("What failed"), Bullets(failures)]
    if document.study.metric == MODEL_CYCLES:
        sections += caution_sections(name_of_model(document), document.machine.held)
    if modelled(document):
        sections.append(Text(words_of_model(document)))
    return as_markdown(sections)


def _conditions(document: StudyDocument) -> str:
    """What was measured where: figures mean nothing without it."""
    source, machine = document.source, document.machine
    compilers = dict.fromkeys(
        variant.provenance["compiler"] for variant in document.variants if variant.provenance
    )
    layouts = {run.layout for run in document.runs} - {"default"}
    replayed = any(run.replayed for run in document.runs)
    model = f", CPU model {machine.cpu}" if machine.cpu else ""
    counts = (
        _count(what, items)
        for what, items in (("variant", document.variants), ("workload", document.workloads))
    )
    said = [
        f"{source.name} on {machine.name}{model}",
        f"{', '.join(counts)}, {len(layouts)} random layouts{', replayed' * replayed}"
        + (f" from {document.boots} boots of each" if document.boots > 1 else ""),
        ", ".join(compilers),
        f"kernsmith {document.kernsmith}",
    ]
    return "; ".join(part for part in said if part)


def _count(what: str, items: Sequence[object]) -> str:
    return f"{len(items)} {what}{'' if len(items) == 1 else 's'}"


def _overall_table(document: StudyDocument) -> Table:
    rows: list[list[Value]] = [
        [
            verdict.variant,
            verdict.metric,
            verdict.ratio,
            *(verdict.ci or (None, None)),
            verdict.p,
            verdict.layout_share,
            verdict.default_ratio,
            judgement(verdict),
        ]
        for verdict in document.verdicts
        if verdict.workload == OVERALL and verdict.metric in document.headlines
    ]
    columns = [
        Column("variant"), Column("metric"), Column("ratio", ".4f"), Column("from", ".4f"),
        Column("to", ".4f"), Column("p", ".2g"), Column(f"{document.by_luck}'s share", ".0%"),
        Column("one binary said", ".4f"), Column("verdict"),
    ]  # fmt: skip
    of_boots = " over boots" if document.boots > 1 else ""
    caption = (
        f"All workloads together, relative to {document.baseline}: geometric means over random "
        f"layouts, {confidence(document)} intervals{of_boots}"
    )
    return Table(columns, rows, caption)


def _workload_table(document: StudyDocument) -> Table:
    metric, names = document.study.metric, document.others
    cells: dict[str, dict[str, str]] = {}
    for verdict in document.verdicts:
        if verdict.metric == metric and not verdict.speciality:
            mark = "*" if verdict.significant else ""
            row = cells.setdefault(verdict.workload, {})
            row[verdict.variant] = f"{verdict.ratio:.4f}{mark}"
    rows: list[list[Value]] = [
        [workload, *(row.get(name) for name in names)]
        for workload, row in sorted(cells.items(), key=lambda item: (item[0] != OVERALL, item[0]))
    ]
    caption = f"{metric} by workload; * marks what is significant"
    return Table([Column("workload"), *map(Column, names)], rows, caption)


def _spread_tables(document: StudyDocument) -> list[Table]:
    """How far layout alone moves each kernel."""
    metric = document.study.metric
    rows: list[list[Value]] = [
        [mix.variant, mix.low, mix.high] for mix in document.mixes if mix.metric == metric
    ]
    columns = [Column("variant"), Column("lowest, %", "+.2f"), Column("highest, %", "+.2f")]
    caption = f"{metric} of the lowest and the highest random layout, against the mean of all"
    return [Table(columns, rows, caption)] if rows else []
