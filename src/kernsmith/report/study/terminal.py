# SPDX-License-Identifier: GPL-2.0-or-later
"""A study's result in the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from kernsmith.document import StudyDocument, VariantView, VerdictView
from kernsmith.document.study import MODEL_CYCLES
from kernsmith.report.plain import as_text
from kernsmith.report.study.checks import check_notes, check_tables
from kernsmith.report.study.design import design_sections
from kernsmith.report.study.luck import luck_lines
from kernsmith.report.study.machines import pair_lines, pair_tables
from kernsmith.report.study.noise import noise_lines
from kernsmith.report.study.proved import proved_lines
from kernsmith.report.study.silicon import caution
from kernsmith.report.study.specialities import speciality_tables
from kernsmith.report.study.steps import took
from kernsmith.report.study.verified import verified_lines
from kernsmith.report.study.words import (
    attribution_lines,
    confidence,
    harmed,
    headline,
    interval,
    judgement,
    modelled,
    name_of_model,
    number,
    sequential,
    words_of_model,
    workload_name,
)
from kernsmith.report.terminal import add_texts, say, text_table


def print_study(document: StudyDocument, console: Console) -> None:
    """Print verdicts, failures, and where the kernel, the profile and the report are."""
    for variant in document.others:
        console.print(_mix_table(document, variant))
        console.print(_workload_table(document, variant))
        for _, line in headline(document, variant):
            say(console, line)
        if line := harmed(document, variant):
            say(console, line)
        for line in luck_lines(document, variant):
            say(console, f"{variant}: {line}")
        for line in attribution_lines(document, variant):
            say(console, f"{variant}: {line}")
    for line in (*verified_lines(document), *proved_lines(document)):
        say(console, line)
    if tables := pair_tables(document):
        say(console, as_text(tables))
    for line in pair_lines(document):
        say(console, line)
    for line in noise_lines(document):
        say(console, line)
    for _, line in sequential(document):
        say(console, line)
    if tables := speciality_tables(document):
        say(console, as_text(tables))
    if tables := check_tables(document):
        say(console, as_text([*tables[:1], *check_notes(document)]))
    if modelled(document):
        say(console, words_of_model(document))
    if document.study.metric == MODEL_CYCLES:
        said = caution(name_of_model(document), document.machine.held)
        say(console, f"caution: {said}")
    for remark in (*document.remarks, *(document.pair.remarks if document.pair else ())):
        say(console, f"note: {remark}")
    for failure in document.failures:
        say(console, f"failed: {failure}")
    if said := took(document):
        say(console, said)
    for view in document.variants:
        if view.vmlinux and not view.baseline:
            _print_paths(view, console)
    say(console, f"report   {document.report}")
    if design := design_sections(document, all_metrics=False):
        say(console, as_text(design))


def _print_paths(variant: VariantView, console: Console) -> None:
    say(console, f"{variant.name}:")
    for title, path in (
        ("vmlinux", variant.vmlinux),
        ("image", variant.bzimage),
        ("profile", variant.profile),
        *(("package", path) for path in variant.packages or (variant.package_command,)),
    ):
        if path:
            say(console, f"{title}  {path}")


def _columns(document: StudyDocument) -> list[str]:
    interval_title = f"{confidence(document)} interval"
    return [
        "ratio",
        interval_title,
        "p",
        f"{document.by_luck}'s share",
        "one binary said",
        "verdict",
    ]


def _cells(verdict: VerdictView) -> list[str]:
    return [
        f"{verdict.ratio:.4f}",
        interval(verdict.ci),
        number(verdict.p, ".2g"),
        number(verdict.layout_share, ".1%"),
        number(verdict.default_ratio, ".4f"),
        judgement(verdict),
    ]


def _mix_table(document: StudyDocument, variant: str) -> Table:
    table = text_table(f"{variant} against {document.baseline}: geometric mean over workloads")
    table.add_column("mix", no_wrap=True)
    table.add_column("metric", no_wrap=True)
    for title in _columns(document):
        table.add_column(title, justify="right", no_wrap="interval" in title)
    for verdict in document.verdicts:
        if verdict.variant != variant or verdict.metric not in document.headlines:
            continue
        if verdict.mix and not verdict.speciality:
            add_texts(table, [verdict.workload, verdict.metric, *_cells(verdict)])
    return table


def _workload_table(document: StudyDocument, variant: str) -> Table:
    metric = document.study.metric
    table = text_table(f"{variant} against {document.baseline}: {metric} by workload")
    table.add_column("workload", no_wrap=True)
    for title in _columns(document):
        table.add_column(title, justify="right", no_wrap="interval" in title)
    for verdict in document.verdicts_of(variant, metric, mixes=False):
        add_texts(table, [workload_name(verdict), *_cells(verdict)])
    return table
