# SPDX-License-Identifier: GPL-2.0-or-later
"""What orders of a kernel's functions cost, as one self-contained HTML page."""

from __future__ import annotations

from collections.abc import Mapping
from math import nan

from kernsmith.document import LayoutDocument, OrdersDocument, SampleDocument
from kernsmith.document.layouts import CONFIRMED, DEFAULT
from kernsmith.document.study import MODEL_CYCLES, OVERALL
from kernsmith.document.text import as_plain
from kernsmith.report.charts import Interval, forest_plot
from kernsmith.report.layout.words import SHOWN
from kernsmith.report.page import (
    Chart,
    Column,
    Details,
    Kind,
    Page,
    Section,
    Table,
    Text,
    Value,
    Verdict,
    render_page,
)
from kernsmith.report.study.silicon import caution_sections
from kernsmith.report.study.words import MODEL_WORDS

_CHANGE = f"change of {MODEL_CYCLES} against the default layout (%)"


def layout_page(document: LayoutDocument) -> str:
    """The HTML of what `kernsmith layout` found."""
    lab = document.lab
    replayed = f"one window of {lab.every}" if lab.every > 1 else "all replayed"
    if isinstance(document, SampleDocument):
        title, sections = "random layouts", _sample_sections(document)
    else:
        title, sections = "orders of functions", _order_sections(document)
    return render_page(
        Page(
            title=f"kernsmith: {title}",
            subtitle=f"kernel {lab.kernel[:12]}, {lab.cpu} model, {', '.join(lab.workloads)}",
            sections=[*sections, *caution_sections(lab.cpu, lab.held), Text(MODEL_WORDS)],
            figures=as_plain(document),
            footer=(lab.vmlinux, f"{lab.blocks:,} executed blocks, {replayed}"),
        )
    )


def _sample_sections(document: SampleDocument) -> list[Section]:
    summary = document.summary
    whole = summary[OVERALL if OVERALL in summary else document.lab.workloads[0]][MODEL_CYCLES]
    sentence = (
        f"Layout alone moves this kernel by {100 * (whole.high - whole.low):.2f} %: "
        f"{document.count} random layouts take {_percent(whole.low)} to {_percent(whole.high)} "
        f"{MODEL_CYCLES} against the default layout, nine of ten {_percent(whole.percent_5)} to "
        f"{_percent(whole.percent_95)}."
    )
    lines = [
        Interval(
            workload,
            _change(metrics[MODEL_CYCLES].median),
            _change(metrics[MODEL_CYCLES].percent_5),
            _change(metrics[MODEL_CYCLES].percent_95),
            overall=workload == OVERALL,
        )
        for workload, metrics in sorted(summary.items(), key=lambda item: item[0] != OVERALL)
    ]
    caption = "Median of the random layouts, and where nine of ten lie; dashed: the default layout"
    return [
        Verdict(sentence),
        Chart(forest_plot(lines, _CHANGE), caption),
        Details("All figures", [_spread_table(document)]),
    ]


def _spread_table(document: SampleDocument) -> Table:
    names = ("min", "5 %", "median", "95 %", "max", "mean")
    columns = [Column("workload"), Column("metric"), *(Column(name, ".4f") for name in names)]
    rows: list[list[Value]] = [
        [
            workload, metric, one.low, one.percent_5, one.median, one.percent_95, one.high,
            one.mean, one.cv_percent,
        ]
        for workload, metrics in document.summary.items()
        for metric, one in metrics.items()
    ]  # fmt: skip
    return Table([*columns, Column("CV", ".2f", "%")], rows, "Relative to the default layout")


def _order_sections(document: OrdersDocument) -> list[Section]:
    (first, ratios), *others = document.ratios.items()
    sections: list[Section] = [Verdict(_sentence(document, ratios), _kind(document, ratios))]
    sections.append(_order_chart(first, ratios, document.best))
    sections += [_order_chart(part, table, document.best) for part, table in others]
    tables = [_order_table(part, table) for part, table in document.ratios.items()]
    return [*sections, Details("All figures", tables)]


def _sentence(document: OrdersDocument, ratios: Mapping[str, Mapping[str, float]]) -> str:
    name = document.best or min(ratios, key=lambda order: ratios[order][MODEL_CYCLES])
    if name == DEFAULT:
        return "No order is better than the default layout."
    words = (
        f"The best order is {name}: {_percent(ratios[name][MODEL_CYCLES])} {MODEL_CYCLES} against "
        "the default layout"
    )
    if confirmed := ratios.get(CONFIRMED):
        words += f", {_percent(confirmed[MODEL_CYCLES])} when it is linked and booted"
    return f"{words}."


def _kind(document: OrdersDocument, ratios: Mapping[str, Mapping[str, float]]) -> Kind:
    lowest = min(ratios.values(), key=lambda metrics: metrics[MODEL_CYCLES])[MODEL_CYCLES]
    return "better" if lowest < 1 else "neutral"


def _order_chart(part: str, ratios: Mapping[str, Mapping[str, float]], best: str | None) -> Chart:
    lines = [
        Interval(
            name,
            _change(metrics[MODEL_CYCLES]),
            nan,
            nan,
            kind=_colour(metrics[MODEL_CYCLES]),
            overall=name in (best, CONFIRMED),
        )
        for name, metrics in sorted(ratios.items(), key=lambda item: item[1][MODEL_CYCLES])
        if name != DEFAULT
    ]
    return Chart(forest_plot(lines, _CHANGE), f"{part}; dashed: the default layout")


def _order_table(part: str, ratios: Mapping[str, Mapping[str, float]]) -> Table:
    rows: list[list[Value]] = [
        [name, *(metrics.get(metric) for metric in SHOWN)] for name, metrics in ratios.items()
    ]
    columns = [Column("order"), *(Column(metric, ".4f") for metric in SHOWN)]
    return Table(columns, rows, f"Relative to the default layout: {part}")


def _colour(ratio: float) -> str:
    return "same" if ratio == 1 else "better" if ratio < 1 else "worse"


def _change(ratio: float) -> float:
    return 100 * (ratio - 1)


def _percent(ratio: float) -> str:
    return f"{_change(ratio):+.2f} %"
