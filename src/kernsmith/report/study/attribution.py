# SPDX-License-Identifier: GPL-2.0-or-later
"""Which functions make the difference: a picture of the largest changes, and a folded table."""

from __future__ import annotations

import re
from math import nan

from kernsmith.document import AttributionView, StudyDocument
from kernsmith.report.charts import Interval, forest_plot
from kernsmith.report.flame import flame_svg
from kernsmith.report.page import (
    Chart,
    Code,
    Column,
    Details,
    Drawing,
    Heading,
    Section,
    Table,
    Text,
    Value,
)
from kernsmith.report.study.collisions import collision_sections, collision_words

_SOURCE = (
    "Functions are those of the source, wherever they were inlined; a block of instructions is of "
    "the function that it begins in."
)
_SYMBOLS = "A function that is inlined elsewhere is a part of that one: the kernels do not tell."
_FILE = "The file is beside study.json: one stack a line, with the cycles of baseline and variant"
_DRAWN = 12
# Share of returns above which a reader should know of it.
_UNSURE = 0.001
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
            sections += _flames(one, document.baseline)
        sections.append(Details(f"{one.variant}: {len(one.functions)} functions", [_table(one)]))
        sections += collision_sections(one, document.baseline)
    return sections


def attribution_notes(document: StudyDocument) -> list[Section]:
    """The same in few words, where no pictures are: the largest changes, and what collides."""
    sections: list[Section] = []
    for one in document.attributions:
        if not one.functions:
            continue
        rows: list[list[Value]] = [[each.name, each.change] for each in one.functions[:_DRAWN]]
        rest = one.change - sum(each.change for each in one.functions[:_DRAWN])
        rows.append(["all others", rest])
        columns = [Column("function"), Column("change of model_cycles", "+.2f", "% of all")]
        caption = (
            f"{one.variant} from default layout to default layout, by function: "
            f"{one.change:+.2f} % model_cycles"
        )
        sections.append(Table(columns, rows, caption))
        if one.collisions is not None:
            sections.append(collision_words(one.collisions, [document.baseline, one.variant]))
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


def _flames(one: AttributionView, baseline: str) -> list[Section]:
    """Functions that only one kernel executes have no width in the other's graph: both are drawn,
    the baseline's folded."""
    if one.flame is None or not one.flame.nodes:
        return []
    unsure = ""
    if one.flame.lost >= _UNSURE:
        unsure = f"; {one.flame.lost:.1%} of the returns led to no call that was known to be open"
    caption = (
        "Stacks of functions, callers above what they call; as wide as their model_cycles in {}; "
        f"red: more in {one.variant} than in {baseline}, blue: less, the stronger the larger the "
        f"difference. The pointer over a function tells its figures, in per cent of {baseline}'s "
        f"cycles; a click makes it as wide as the graph, one on “all” the graph whole again{unsure}"
    )
    own, other = (flame_svg(one.flame, side) for side in (1, 0))
    file = Code(f"flamegraph.pl {stacks_file(one.variant)} > flames.svg", caption=_FILE)
    return [
        Drawing(own, caption.format(one.variant)),
        Details(
            f"{one.variant}: the same stacks as wide as in {baseline}, and as a file",
            [Drawing(other, caption.format(baseline)), file],
        ),
    ]


def stacks_file(variant: str) -> str:
    """The file of a variant's stacks, in the folder of a study's results."""
    return f"stacks/{re.sub(r'[^A-Za-z0-9.+=_-]+', '_', variant)}.difffolded"


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
