# SPDX-License-Identifier: GPL-2.0-or-later
"""Two machines side by side: sentences, tables, and a picture of both machines' ratios."""

from __future__ import annotations

from math import nan

from kernsmith.document import ComparedView, PairView, RanksView, StudyDocument
from kernsmith.document.factors import Bounds
from kernsmith.document.study import OVERALL
from kernsmith.report.charts import Interval, forest_plot
from kernsmith.report.page import (
    Bullets,
    Chart,
    Column,
    Details,
    Heading,
    Section,
    Table,
    Text,
    Value,
)
from kernsmith.report.study.words import confidence, interval, judgement

TITLE = "Two machines"


def pair_lines(document: StudyDocument) -> list[str]:
    """What they say of each variant, and in which order they put layouts and workloads."""
    pair = document.pair
    if pair is None:
        return []
    lines = [
        f"{each.variant}: {each.sentence}"
        for each in pair.compared
        if each.workload == OVERALL or each.disagree
    ]
    return [*lines, *(_ranks_line(document, each) for each in pair.ranks)]


def _ranks_line(document: StudyDocument, ranks: RanksView) -> str:
    assert document.pair is not None
    machines = f"{document.machine.name} and {document.pair.machine.name}"
    bounds = f" ({interval(ranks.ci)})" if ranks.ci else ""
    allowed = "" if ranks.allowed is None else f", of {ranks.allowed:.2f} that noise allows"
    what = "layouts" if ranks.of == "layouts" else "workloads, by what they gain,"
    return (
        f"{ranks.variant}: {machines} rank its {ranks.n} {what} alike by "
        f"{ranks.correlation:.2f}{bounds}{allowed}"
    )


def pair_tables(document: StudyDocument) -> list[Table]:
    """Ratios of both machines, variant by variant and workload by workload."""
    pair = document.pair
    if pair is None or not pair.compared:
        return []
    first, second = document.machine.name, pair.machine.name
    columns = [
        Column("variant"), Column("workload"), Column(first, ".4f"), Column("interval"),
        Column(second, ".4f"), Column("interval"), Column(f"{second} / {first}", ".4f"),
        Column("interval"), Column("p, corrected", ".2g"), Column("layouts", "d"),
        Column("machines"),
    ]  # fmt: skip
    rows: list[list[Value]] = [
        [
            each.variant, each.workload, each.first, interval(each.first_ci),
            each.second, interval(each.second_ci), each.ratio, interval(each.ci),
            each.p_corrected, each.n, _opinion(each),
        ]
        for each in pair.compared
    ]  # fmt: skip
    caption = (
        f"{TITLE}: {document.study.metric} on {first}, {pair.metric} on {second}, ratios to "
        f"{document.baseline}, {confidence(document)} intervals over layouts"
    )
    return [Table(columns, rows, caption)]


def _opinion(compared: ComparedView) -> str:
    if compared.p_corrected is None:
        return "one layout"
    return "differ" if compared.disagree else "no difference"


def pair_sections(document: StudyDocument) -> list[Section]:
    """A section of the page; nothing of a study on one machine."""
    pair = document.pair
    if pair is None:
        return []
    first, second = document.machine.name, pair.machine.name
    sections: list[Section] = [
        Heading(TITLE),
        Text(
            f"The same kernels in the same layouts, on {first} by {document.study.metric} and on "
            f"{second} by {pair.metric}. Ratios to {document.baseline} have no unit, so they can "
            f"be compared; {second} / {first} is by how much the second machine's is larger."
        ),
        Bullets(pair_lines(document)),
    ]
    for name in document.others:
        lines = [line for each in pair.compared if each.variant == name for line in _two(each)]
        named = [
            Interval(f"{label}, {machine}", *rest, overall=overall)
            for label, overall, machines in lines
            for machine, rest in zip((first, second), machines, strict=True)
        ]
        if named:
            chart = forest_plot(named, f"ratio to {document.baseline}", reference=1.0)
            sections.append(Chart(chart, f"{name}: what each machine says"))
    tables = pair_tables(document)
    if tables:
        sections.append(Details(f"All ratios of {first} and {second}", [*tables]))
    sections.append(Details(f"The machine {second}", _second(pair)))
    return sections


def _two(
    compared: ComparedView,
) -> list[tuple[str, bool, tuple[tuple[float, float, float], ...]]]:
    machines = ((compared.first, compared.first_ci), (compared.second, compared.second_ci))
    figures = tuple((ratio, *_ends(ci)) for ratio, ci in machines)
    return [(compared.workload, compared.workload == OVERALL, figures)]


def _ends(ci: Bounds | None) -> tuple[float, float]:
    low, high = ci or (None, None)
    return nan if low is None else low, nan if high is None else high


def _second(pair: PairView) -> list[Section]:
    """Its headline metrics over all workloads, and what its figures presume."""
    headlines = {each.name for each in pair.metrics if each.headline}
    rows: list[list[Value]] = [
        [
            each.variant, each.metric, each.ratio, interval(each.ci), each.p_corrected,
            judgement(each),
        ]
        for each in pair.verdicts
        if each.workload == OVERALL and each.metric in headlines
    ]  # fmt: skip
    columns = [
        Column("variant"), Column("metric"), Column("ratio", ".4f"), Column("interval"),
        Column("p, corrected", ".2g"), Column("verdict"),
    ]  # fmt: skip
    table = Table(columns, rows, f"All workloads together on {pair.machine.name}")
    return [table, Bullets([*pair.machine.assumptions, *pair.remarks])]
