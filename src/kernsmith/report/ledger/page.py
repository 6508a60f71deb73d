# SPDX-License-Identifier: GPL-2.0-or-later
"""What `kernsmith report` shows of a study in the ledger: effects, layouts, what more it takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import exp, inf

from kernsmith.machine.metrics import metric as catalogued
from kernsmith.machine.protocol import Metric
from kernsmith.report.charts import Interval, forest_plot, layout_plot
from kernsmith.report.page import (
    Chart,
    Code,
    Column,
    Heading,
    Kind,
    Page,
    Section,
    Table,
    Text,
    Value,
    Verdict,
)
from kernsmith.report.sentences import verdict_sentence
from kernsmith.stats.question import OVERALL
from kernsmith.stats.study import MetricAnalysis, WorkloadComponents
from kernsmith.stats.verdict import Verdict as StatVerdict


def ledger_page(
    name: str,
    text: str,
    found: Sequence[MetricAnalysis],
    *,
    units: Mapping[str, str],
    machines: Sequence[str],
    notes: Sequence[str],
    figures: Mapping[str, object],
    footer: Sequence[str],
) -> Page:
    """The page of a study; the first metric's verdicts stand at the top."""
    sections: list[Section] = [Verdict(note, "warning") for note in notes]
    for each in found:
        known = catalogued(each.metric)
        sections += metric_sections(each, replace(known, unit=units.get(each.metric, "")))
    sections += [Heading("The study"), Code(text)]
    return Page(
        title=f"kernsmith: {name}",
        sections=sections,
        subtitle=", ".join(machines),
        figures=figures,
        footer=footer,
    )


def metric_sections(found: MetricAnalysis, metric: Metric) -> list[Section]:
    """One metric: a verdict a variant, the forest plot, layouts, components, sequential look."""
    sections: list[Section] = [
        Heading(f"{metric.name} ({metric.unit})" if metric.unit else metric.name)
    ]
    overall = [each for each in found.verdicts if each.workload == OVERALL]
    if not found.verdicts:
        sections.append(Text("This study has one variant: there is nothing to compare it with."))
    for each in overall:
        sections.append(
            Verdict(f"{each.variant}: {verdict_sentence(each, metric.better)}", _box(each, metric))
        )
    for workload in found.missing:
        sections.append(Verdict(f"{workload}: a variant has no finished run", "warning"))
    if found.verdicts:
        sections.append(_effect_table(found))
        sections += _charts(found, overall, metric)
    if found.components:
        sections.append(_component_table(found.components))
        sections.append(_need_table(found.components))
    if found.sequential:
        sections.append(_sequential(found))
    return sections


def _box(each: StatVerdict, metric: Metric) -> Kind:
    if not each.significant:
        return "neutral"
    return "better" if (each.effect.ratio < 1) == (metric.better == "lower") else "worse"


def _effect_table(found: MetricAnalysis) -> Table:
    columns = [
        Column("variant"), Column("workload"), Column("layouts", "d"), Column("ratio", ".5f"),
        Column("low", ".5f"), Column("high", ".5f"), Column("p", ".3g"),
        Column("p (corrected)", ".3g"), Column("layout share", ".1%"), Column("differs"),
    ]  # fmt: skip
    rows = [_effect_row(each) for each in found.verdicts]
    caption = (
        f"Ratios to {found.baseline}, geometric means over layouts; layout share: how much of "
        "the variance of logarithms lies within the variants, between layouts"
    )
    return Table(columns, rows, caption)


def _effect_row(each: StatVerdict) -> list[Value]:
    effect = each.effect
    low, high = effect.ci if effect.ci is not None else (None, None)
    return [
        each.variant, each.workload, effect.n, effect.ratio, low, high, effect.p,
        each.p_corrected, effect.layout_share, None if effect.p is None else each.significant,
    ]  # fmt: skip


def _charts(found: MetricAnalysis, overall: Sequence[StatVerdict], metric: Metric) -> list[Section]:
    lines = [_line(each, metric) for each in found.verdicts if each.effect.ci is not None]
    charts: list[Section] = []
    if lines:
        charts.append(
            Chart(
                forest_plot(lines, f"change of {found.metric} (%)"),
                f"Change against {found.baseline} on each workload; diamonds: over all",
            )
        )
    if overall:
        layouts = {found.baseline: _figures(overall[0].baseline)}
        layouts |= {each.variant: _figures(each.treated) for each in overall}
        charts.append(
            Chart(
                layout_plot(layouts, found.metric),
                f"{found.metric} of each layout, geometric mean over the workloads",
            )
        )
    return charts


def _figures(logs: Sequence[float]) -> list[float]:
    return [exp(each) for each in logs]


def _line(each: StatVerdict, metric: Metric) -> Interval:
    effect = each.effect
    assert effect.ci is not None
    low, high = (100 * (bound - 1) for bound in effect.ci)
    kind = "same" if (box := _box(each, metric)) == "neutral" else box
    label = f"{each.variant}: {each.workload}"
    return Interval(label, effect.change, low, high, kind, each.workload == OVERALL)


def _component_table(found: Sequence[WorkloadComponents]) -> Table:
    rows: list[list[Value]] = [
        [each.workload, part.name, part.variance, part.share, part.df]
        for each in found
        for part in each.components
    ]
    columns = [
        Column("workload"), Column("source"), Column("variance of logarithms", ".4g"),
        Column("share", ".1%"), Column("df", "d"),
    ]  # fmt: skip
    return Table(columns, rows, "Where the variance within variants comes from")


def _need_table(found: Sequence[WorkloadComponents]) -> Table:
    rows: list[list[Value]] = [
        [each.workload, need.percent, need.power, need.layouts, need.runs]
        for each in found
        for need in each.needs
    ]
    columns = [
        Column("workload"), Column("change", "g", "%"), Column("power", ".0%"),
        Column("layouts a variant", ",d"), Column("or runs a boot", ",d"),
    ]  # fmt: skip
    caption = (
        "What it takes to see such a change between two variants with independent layouts; no "
        "number of runs: the layouts themselves differ by more"
    )
    return Table(columns, rows, caption)


def _sequential(found: MetricAnalysis) -> Table:
    rows: list[list[Value]] = [
        [variant, look.n, exp(look.mean), exp(look.low), _exp(look.high), look.p]
        for variant, look in found.sequential
    ]
    columns = [
        Column("variant"), Column("layouts", "d"), Column("ratio", ".5f"), Column("low", ".5f"),
        Column("high", ".5f"), Column("p", ".3g"),
    ]  # fmt: skip
    caption = (
        "Always-valid intervals of the overall ratio: they hold even if this study was looked at "
        "after every layout and stopped when it pleased"
    )
    return Table(columns, rows, caption)


def _exp(value: float) -> float:
    return exp(value) if value < 700 else inf
