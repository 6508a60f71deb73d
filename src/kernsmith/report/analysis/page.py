# SPDX-License-Identifier: GPL-2.0-or-later
"""The HTML page of an analysis, and its charts by themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan
from pathlib import Path
from re import sub

from kernsmith.report.analysis.sections import (
    across_sections,
    option_lines,
    overview_sections,
    stratum_sections,
)
from kernsmith.report.chart_files import save_chart
from kernsmith.report.charts import (
    AnyChart,
    Interval,
    box_plot,
    forest_plot,
    interval_plot,
    run_order_plot,
)
from kernsmith.report.page import Chart, Heading, Page, Section, Verdict
from kernsmith.stats.analysis import Analysis, Options, StratumAnalysis
from kernsmith.stats.pairwise import Comparison
from kernsmith.stats.samples import Stratum

MOST_GROUPS = 40
"""Groups, or pairs, drawn in one chart."""


def analysis_page(
    analysis: Analysis,
    strata: Sequence[Stratum],
    figures: Mapping[str, object],
    *,
    title: str,
    command: Sequence[str] = (),
) -> Page:
    """The page: sections of the text, with charts after each stratum.

    figures: the JSON document, which the page offers as a download.
    """
    by_name = {stratum.name: stratum for stratum in strata}
    sections: list[Section] = [Verdict(note, "warning") for note in analysis.notes]
    sections += overview_sections(analysis)
    for found in analysis.strata:
        sections += stratum_sections(found, analysis.options)
        charts = stratum_charts(found, by_name[found.name], analysis.options)
        if charts:
            sections.append(Heading("Charts", 3))
        sections += [Chart(chart, caption) for chart, caption in charts.values()]
    if analysis.across:
        sections += across_sections(analysis)
    forest = forest_charts(analysis)
    sections += [Chart(chart, caption) for chart, caption in forest.values()]
    return Page(
        title=title,
        sections=sections,
        subtitle=f"{analysis.options.value} by {', '.join(analysis.options.factors)}",
        figures=figures,
        footer=option_lines(analysis.options, command),
    )


def stratum_charts(
    found: StratumAnalysis, stratum: Stratum, options: Options
) -> dict[str, tuple[AnyChart, str]]:
    """Charts of one stratum and their captions, by a name for their files."""
    charts: dict[str, tuple[AnyChart, str]] = {}
    samples = stratum.samples[:MOST_GROUPS]
    if samples:
        left_out = len(stratum.samples) - len(samples)
        note = f" ({left_out} more groups are not drawn)" if left_out else ""
        charts["box"] = (
            box_plot({s.name: s.values.tolist() for s in samples}, options.value),
            f"{options.value} of each group: quartiles, whiskers to the furthest value within "
            f"1.5 interquartile ranges, every value as a point{note}",
        )
    pairs = [pair for pair in found.comparisons if not isnan(pair.percent)][:MOST_GROUPS]
    if pairs:
        charts["intervals"] = (
            interval_plot([_interval(p, options) for p in pairs], "difference (%)"),
            f"{found.method}: differences with simultaneous {100 * (1 - options.alpha):g} % "
            "intervals; those that miss the dashed line are significant",
        )
    if samples:
        when = "order of the runs" if options.order_known else "order of the rows"
        pairs_of = {
            s.name: list(zip(s.position.tolist(), s.values.tolist(), strict=True)) for s in samples
        }
        charts["order"] = (
            run_order_plot(pairs_of, options.value, when),
            f"{options.value} over the {when}: drift, and groups measured in one go",
        )
    return charts


def forest_charts(analysis: Analysis) -> dict[str, tuple[AnyChart, str]]:
    """A forest plot for every pair that several strata have."""
    charts: dict[str, tuple[AnyChart, str]] = {}
    for across in analysis.across[:MOST_GROUPS]:
        mean = across.mean
        lines = [
            _interval(pair, analysis.options, str(stratum.name))
            for stratum in analysis.strata
            for pair in stratum.comparisons
            if (pair.a, pair.b) == (mean.a, mean.b)
        ]
        whole = [100 * (x - 1) for x in (mean.ratio, mean.run_low, mean.run_high)]
        kind = "same"
        if whole[1] > 0 or whole[2] < 0:
            kind = _kind(whole[0], analysis.options)
        lines.append(Interval("geometric mean", whole[0], whole[1], whole[2], kind, True))
        charts[f"forest-{mean.b}"] = (
            forest_plot(lines, f"{mean.b} against {mean.a} (%)"),
            f"{mean.b} against {mean.a} in every benchmark, and the geometric mean of all",
        )
    return charts


def save_charts(analysis: Analysis, strata: Sequence[Stratum], folder: Path) -> list[Path]:
    """Writes every chart as SVG and PNG; the names say the stratum and the chart.

    Raises:
        OSError: the folder cannot be written to.
    """
    folder.mkdir(parents=True, exist_ok=True)
    by_name = {stratum.name: stratum for stratum in strata}
    written = []
    named = [
        (f"{found.name}-{name}" if found.name is not None else name, chart)
        for found in analysis.strata
        for name, (chart, _) in stratum_charts(found, by_name[found.name], analysis.options).items()
    ]
    named += [(name, chart) for name, (chart, _) in forest_charts(analysis).items()]
    used: set[str] = set()
    for name, chart in named:
        stem = sub(r"[^A-Za-z0-9._-]+", "_", name).strip("._") or "chart"
        while stem in used:
            stem += "_"
        used.add(stem)
        for suffix in (".svg", ".png"):
            save_chart(chart, folder / (stem + suffix))
            written.append(folder / (stem + suffix))
    return written


def _interval(pair: Comparison, options: Options, label: str = "") -> Interval:
    kind = "same"
    if pair.p < options.alpha:
        kind = _kind(pair.percent, options)
    return Interval(
        label or f"{pair.b} against {pair.a}",
        pair.percent,
        pair.percent_low,
        pair.percent_high,
        kind,
    )


def _kind(percent: float, options: Options) -> str:
    return "better" if (percent < 0) == (options.better == "lower") else "worse"
