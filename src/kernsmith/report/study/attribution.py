# SPDX-License-Identifier: GPL-2.0-or-later
"""Which functions make the difference: a picture of the largest changes, and a folded table."""

from __future__ import annotations

from math import nan

from kernsmith.document import AttributionView, StudyDocument
from kernsmith.report.charts import Interval, forest_plot
from kernsmith.report.page import Chart, Column, Details, Heading, Section, Table, Text

_SOURCE = (
    "Functions are those of the source, wherever they were inlined; a block of instructions is of "
    "the function that it begins in."
)
_SYMBOLS = "A function that is inlined elsewhere is a part of that one: the kernels do not tell."
_DRAWN = 12
_LEAST = 0.005
# With more variants than this, all pictures would hide what follows.
_FEW = 2


def attribution_sections(document: StudyDocument) -> list[Section]:
    """A section of its own; nothing where costs by function are not known."""
    if not document.attributions:
        return []
    sections: list[Section] = [
        Heading("Which functions make the difference"),
        Text(
            "Each kernel in its default layout: the front end went through the trace of each boot "
            "once more, with counters for each function, so all functions add up to what the boots "
            "have counted. " + (_SOURCE if document.attributions[0].by_source else _SYMBOLS)
        ),
    ]
    for number, one in enumerate(document.attributions):
        if number < _FEW:
            sections.append(_picture(one, document.baseline))
        sections.append(Details(f"{one.variant}: {len(one.functions)} functions", [_table(one)]))
    return sections


def _picture(one: AttributionView, baseline: str) -> Chart:
    lines = [
        Interval(each.name, each.change, nan, nan, "better" if each.change < 0 else "worse")
        for each in one.functions[:_DRAWN]
    ]
    chart = forest_plot(lines, f"change of model_cycles, % of all of {baseline}'s", reference=0.0)
    repeated = f"; repeated string instructions {one.repeated:+.2f} %"
    repeated = repeated if abs(one.repeated) >= _LEAST else ""
    caption = (
        f"{one.variant} from default layout to default layout: {one.change:+.2f} % model_cycles, "
        f"mean over workloads; the {len(lines)} of {one.ran:,} functions that changed most"
        f"{repeated}"
    )
    return Chart(chart, caption)


def _table(one: AttributionView) -> Table:
    columns = [Column("function"), Column("change of model_cycles", "+.3f", "% of all")]
    titles = ("model_cycles", "kernel_instructions", "l1i_misses", "itlb_misses", "mispredictions")
    for title in titles:
        columns += [Column(f"{title}, baseline", ",.1f"), Column("variant", ",.1f")]
    rows: list[list[str | float | None]] = []
    for each in one.functions:
        pairs = [each.model_cycles, each.kernel_instructions, each.l1i_misses]
        pairs += [each.itlb_misses, each.mispredictions]
        rows.append([each.name, each.change, *(figure for pair in pairs for figure in pair)])
    rows.append(["all other functions", one.rest, *[None] * (2 * len(titles))])
    caption = "For each million kernel instructions of the baseline; each workload weighs the same"
    return Table(columns, rows, caption)
