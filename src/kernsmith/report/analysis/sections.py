# SPDX-License-Identifier: GPL-2.0-or-later
"""What `kernsmith analyze` shows: an analysis as sections for the terminal, Markdown and HTML."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan

from kernsmith.report.analysis.words import check_sentence, method_reason, verdict_sentences
from kernsmith.report.page import (
    Bullets,
    Code,
    Column,
    Details,
    Heading,
    Section,
    Table,
    Text,
    Value,
    Verdict,
)
from kernsmith.stats.analysis import Analysis, Options, PairAcross, StratumAnalysis

MOST_OUTLIERS = 20


def analysis_sections(analysis: Analysis) -> list[Section]:
    """Everything but the charts, in the order in which a reader needs it."""
    sections: list[Section] = [Verdict(note, "warning") for note in analysis.notes]
    sections += overview_sections(analysis)
    for stratum in analysis.strata:
        sections += stratum_sections(stratum, analysis.options)
    if analysis.across:
        sections += across_sections(analysis)
    return sections


def overview_sections(analysis: Analysis) -> list[Section]:
    """With several strata: every group against the first one of its stratum, in one table."""
    if len(analysis.strata) < 2:
        return []
    rows: list[list[Value]] = [
        [
            stratum.name, pair.b, pair.a, pair.percent, pair.percent_low, pair.percent_high,
            pair.p, pair.p_holm, None if isnan(pair.p) else pair.p_holm < analysis.options.alpha,
        ]
        for stratum in analysis.strata
        for pair in stratum.comparisons
        if pair.a == stratum.groups[0].name
    ]  # fmt: skip
    columns = [
        Column(analysis.options.within or "stratum"), Column("group"), Column("against"),
        Column("difference", "+.3f", "%"), Column("low", "+.3f", "%"), Column("high", "+.3f", "%"),
        Column("p", ".3g"), Column("p (Holm)", ".3g"), Column("differs"),
    ]  # fmt: skip
    caption = "All of them; Holm: corrected over those in which the same two groups are compared"
    return [Heading("Overview"), Table(columns, rows, caption)]


def stratum_sections(stratum: StratumAnalysis, options: Options) -> list[Section]:
    """One stratum: verdict, groups, assumptions, tests, comparisons."""
    title = options.value if stratum.name is None else stratum.name
    several = len(stratum.groups) > 1
    sections: list[Section] = [
        Heading(title),
        *_verdicts(stratum, options),
        _groups(stratum, options),
    ]
    sections += [Heading("Assumptions", 3), *_assumptions(stratum)]
    if several:
        sections += _difference_sections(stratum, options)
    if stratum.sensitivity is not None:
        sections.append(Text(_sensitivity(stratum)))
    if stratum.ministat and several:
        sections.append(Details("As ministat prints it", [Code("\n".join(stratum.ministat))]))
    return sections


def _difference_sections(stratum: StratumAnalysis, options: Options) -> list[Section]:
    sections: list[Section] = []
    tests = _tests(stratum)
    if tests.rows:
        sections += [Heading("Do the groups differ?", 3), tests]
        sections += [_factorial(stratum)] if stratum.factorial else []
    sections.append(Heading("Which groups differ?", 3))
    if any(not isnan(pair.p) for pair in stratum.comparisons):
        sections.append(Text(_method(stratum)))
    return [*sections, _comparisons(stratum, options), *_ratios(stratum)]


def across_sections(analysis: Analysis) -> list[Section]:
    """Geometric means over the strata, the index, and the mean gain by every definition."""
    confidence = f"{100 * (1 - analysis.options.alpha):g} %"
    rows: list[list[Value]] = [
        [
            pair.mean.b, pair.mean.a, pair.mean.benchmarks, pair.mean.ratio,
            pair.mean.run_low, pair.mean.run_high,
            pair.mean.benchmark_low, pair.mean.benchmark_high, pair.mean.index,
        ]
        for pair in analysis.across
    ]  # fmt: skip
    table = Table(
        [
            Column("group"), Column("against"), Column("benchmarks", "d"),
            Column("ratio", ".5f"), Column("runs: low", ".5f"), Column("high", ".5f"),
            Column("benchmarks: low", ".5f"), Column("high", ".5f"), Column("index", ".3f"),
        ],
        rows,
        f"Geometric mean of the ratios, with {confidence} bootstrap intervals: had the same "
        "benchmarks been run again (runs), had other benchmarks like these been taken "
        "(benchmarks, from five on). Index as UnixBench's: the baseline has 10, more is better.",
    )  # fmt: skip
    return [Heading("Across all"), table, *(_gain_table(pair) for pair in analysis.across)]


def _gain_table(pair: PairAcross) -> Table:
    rows: list[list[Value]] = [[gain.definition, gain.mean, gain.percent] for gain in pair.gains]
    return Table(
        [Column("gain"), Column("mean"), Column("gain", "+.3f", "%")],
        rows,
        f"{pair.mean.b} against {pair.mean.a}: the mean gain by definition. Only the geometric "
        "mean does not depend on which of the two is called the baseline.",
    )


def _verdicts(stratum: StratumAnalysis, options: Options) -> list[Section]:
    first, *others = verdict_sentences(stratum, options)
    boxes: list[Section] = [Verdict(first)]
    boxes += [Bullets(others)] if others else []
    boxes += [
        Verdict(check_sentence(check, stratum), "warning")
        for check in stratum.checks
        if check.standing == "violated" and check.name in ("run order", "drift", "independence")
    ]
    return boxes


def _groups(stratum: StratumAnalysis, options: Options) -> Table:
    confidence = f"{100 * (1 - options.alpha):g} %"
    columns = [
        Column(" × ".join(options.factors) or "group"), Column("n", "d"), Column("min", ".8g"),
        Column("max", ".8g"), Column("median", ".8g"), Column("mean", ".8g"),
        Column("SD", ".5g"), Column("CV", ".3g", "%"),
        Column(f"mean: {confidence} low", ".8g"), Column("high", ".8g"),
    ]  # fmt: skip
    rows: list[list[Value]] = [
        [
            group.name, group.n, group.minimum, group.maximum, group.median, group.mean,
            group.sd, group.cv, group.mean_low, group.mean_high,
        ]
        for group in stratum.groups
    ]  # fmt: skip
    return Table(columns, rows, f"{options.value}, by group")


def _assumptions(stratum: StratumAnalysis) -> list[Section]:
    rows: list[list[Value]] = [
        [check.name, check.standing, check.test, check.figure, check.p] for check in stratum.checks
    ]
    columns = [
        Column("assumption"), Column("standing"), Column("test"), Column("figure", ".5g"),
        Column("p", ".3g"),
    ]  # fmt: skip
    told = [f"{check.name}: {check_sentence(check, stratum)}" for check in stratum.checks]
    return [Table(columns, rows), Bullets(told), *_outliers(stratum)]


def _outliers(stratum: StratumAnalysis) -> list[Section]:
    found = stratum.outliers
    if not found:
        return []
    items = [
        f"{each.group}: {each.value:.8g}"
        + (f" (line {each.row})" if each.row else "")
        + (", far out" if each.far else "")
        for each in found[:MOST_OUTLIERS]
    ]
    if len(found) > MOST_OUTLIERS:
        items.append(f"and {len(found) - MOST_OUTLIERS} more")
    text = (
        f"{len(found)} value{'s' if len(found) > 1 else ''} beyond Tukey's fences; all of them "
        "are part of every figure here:"
    )
    return [Text(text), Bullets(items)]


def _tests(stratum: StratumAnalysis) -> Table:
    rows: list[list[Value]] = []
    fisher = stratum.anova
    if fisher is not None and not isnan(fisher.p):
        df = f"{fisher.df_between}, {fisher.df_within}"
        rows.append(["Fisher's ANOVA", "F", fisher.f, df, fisher.p, fisher.omega_squared])
    for name, letter, test in (
        ("Welch's ANOVA", "F", stratum.welch),
        ("Kruskal-Wallis", "H", stratum.kruskal_wallis),
    ):
        if not isnan(test.statistic):
            df = ", ".join(f"{each:.5g}" for each in test.df)
            rows.append([name, letter, test.statistic, df, test.p, None])
    columns = [
        Column("test"), Column("statistic"), Column("figure", ".6g"), Column("df"),
        Column("p", ".4g"), Column("ω²", ".4f"),
    ]  # fmt: skip
    caption = ""
    if not isnan(stratum.p_holm) and stratum.p_holm != stratum.p:
        caption = f"Corrected over all of them (Holm), p is {stratum.p_holm:.4g}."
    return Table(columns, rows, caption)


def _factorial(stratum: StratumAnalysis) -> Table:
    rows: list[list[Value]] = [
        [row.term, row.df, row.sum_of_squares, row.f, row.p, row.omega_squared]
        for row in stratum.factorial
    ]
    columns = [
        Column("term"), Column("df", "d"), Column("sum of squares", ".6g"), Column("F", ".6g"),
        Column("p", ".4g"), Column("partial ω²", ".4f"),
    ]  # fmt: skip
    return Table(columns, rows, "Factors and their interactions, type II sums of squares")


def _method(stratum: StratumAnalysis) -> str:
    return (
        f"{stratum.method}: {method_reason(stratum)}. The intervals hold for all pairs together; "
        "p is exact, whatever its size."
    )


def _comparisons(stratum: StratumAnalysis, options: Options) -> Table:
    corrected = any(pair.p_holm != pair.p for pair in stratum.comparisons if not isnan(pair.p))
    columns = [
        Column("group"), Column("against"), Column("difference", "+.5g"), Column("low", "+.5g"),
        Column("high", "+.5g"), Column("difference", "+.4f", "%"), Column("low", "+.4f", "%"),
        Column("high", "+.4f", "%"), Column("Q", ".4f"), Column("p", ".4g"),
        *([Column("p (Holm)", ".4g")] if corrected else []), Column("differs"),
    ]  # fmt: skip
    rows = [
        [
            pair.b, pair.a, pair.difference, pair.low, pair.high,
            pair.percent, pair.percent_low, pair.percent_high, pair.q, pair.p,
            *([pair.p_holm] if corrected else []),
            None if isnan(pair.p) else bool(pair.p < options.alpha),
        ]
        for pair in stratum.comparisons
    ]  # fmt: skip
    caption = f"Differences with simultaneous {100 * (1 - options.alpha):g} % intervals"
    return Table(columns, rows, caption)


def _ratios(stratum: StratumAnalysis) -> list[Section]:
    """Multiplicative effects, where every value is positive."""
    rows: list[list[Value]] = [
        [pair.b, pair.a, pair.ratio, pair.ratio_low, pair.ratio_high]
        for pair in stratum.comparisons
        if not isnan(pair.ratio)
    ]
    columns = [
        Column("group"), Column("against"), Column("ratio", ".5f"), Column("low", ".5f"),
        Column("high", ".5f"),
    ]  # fmt: skip
    caption = "Ratios of the geometric means, simultaneous intervals by Games-Howell on logarithms"
    return [Table(columns, rows, caption)] if rows else []


def _sensitivity(stratum: StratumAnalysis) -> str:
    found = stratum.sensitivity
    assert found is not None
    text = (
        f"With this spread, two groups of {found.n} show a difference of "
        f"{found.detectable_80:.3g} % with 80 % power, of {found.detectable_90:.3g} % with 90 %; "
        f"a difference of {found.effect:g} % needs "
        f"{_count(found.needed_80)} (80 %) or {_count(found.needed_90)} (90 %) values a group."
    )
    return text + " Spread between boots and layouts is only in it if they were varied."


def _count(n: int | None) -> str:
    return "more than ten million" if n is None else f"{n:,}"


def option_lines(options: Options, command: Sequence[str]) -> list[str]:
    """Provenance for the page's foot."""
    lines = [f"kernsmith analyze, α = {options.alpha:g}, less is better"]
    if options.better == "higher":
        lines = [f"kernsmith analyze, α = {options.alpha:g}, more is better"]
    if command:
        lines.append(" ".join(command))
    return lines
