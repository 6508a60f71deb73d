# SPDX-License-Identifier: GPL-2.0-or-later
"""The whole analysis of a table: what `kernsmith analyze` tells, as one frozen value.

Nothing here prints, reads or puts into words: `kernsmith.report.analysis` does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isnan, nan, sqrt

from kernsmith.stats.anova import NO_TEST, OneWay, Test, kruskal_wallis, one_way, welch
from kernsmith.stats.assumptions import (
    Check,
    EqualVariance,
    Outlier,
    check_assumptions,
    find_outliers,
)
from kernsmith.stats.benchmarks import Better, Gain, GeometricMean, gains, geometric_mean
from kernsmith.stats.factorial import FactorialRow, factorial
from kernsmith.stats.ministat import ministat_report, ministat_verdict
from kernsmith.stats.multiple import holm
from kernsmith.stats.pairwise import Comparison, Method, compare_all
from kernsmith.stats.power import detectable, needed_n
from kernsmith.stats.samples import Sample, Stratum, Summary


@dataclass(frozen=True)
class Options:
    """How to analyse.

    factors: names of the columns that make the groups. baseline: name of the group to compare
    with; None: the first. effect: the change, in per cent, whose needed sample size is told.
    """

    factors: tuple[str, ...]
    value: str = "value"
    within: str | None = None
    baseline: str | None = None
    alpha: float = 0.05
    better: Better = "lower"
    effect: float = 1.0
    order_known: bool = False


@dataclass(frozen=True)
class GroupFigures:
    """A group's row in the table; mean_low and mean_high bound the mean's interval."""

    name: str
    levels: tuple[str, ...]
    n: int
    minimum: float
    maximum: float
    median: float
    mean: float
    sd: float
    cv: float
    mean_low: float
    mean_high: float
    geometric_mean: float


@dataclass(frozen=True)
class Sensitivity:
    """What a stratum could have shown, and what it would take; in per cent of the baseline's mean.

    n: of the smallest group. detectable_80, detectable_90: smallest difference of two groups
    seen with that power. needed_80, needed_90: values a group that show ``effect``; None beyond
    ten million.
    """

    n: int
    pooled_sd: float
    detectable_80: float
    detectable_90: float
    effect: float
    needed_80: int | None
    needed_90: int | None


@dataclass(frozen=True)
class StratumAnalysis:
    """All figures of one stratum.

    method: which intervals the comparisons have.
    p: of the test that the groups are all alike, Fisher's or Welch's by ``method``, Kruskal-Wallis
    where Welch's lacks a spread in some group; p_holm: the same corrected over all strata.
    """

    name: str | None
    groups: tuple[GroupFigures, ...]
    checks: tuple[Check, ...]
    outliers: tuple[Outlier, ...]
    anova: OneWay | None
    welch: Test
    kruskal_wallis: Test
    factorial: tuple[FactorialRow, ...]
    method: Method
    p: float
    p_holm: float
    comparisons: tuple[Comparison, ...]
    sensitivity: Sensitivity | None
    ministat: tuple[str, ...]


@dataclass(frozen=True)
class PairAcross:
    """One pair of groups across all strata: geometric mean, and the mean gain by definition."""

    mean: GeometricMean
    gains: tuple[Gain, ...]


@dataclass(frozen=True)
class Analysis:
    """The result. notes: what was left out of the data or understood in a certain way."""

    options: Options
    strata: tuple[StratumAnalysis, ...]
    across: tuple[PairAcross, ...]
    notes: tuple[str, ...]


def analyse(strata: Sequence[Stratum], options: Options, notes: Sequence[str] = ()) -> Analysis:
    """Analyses every stratum, then corrects over all of them.

    Raises:
        ValueError: no strata, or a baseline that no stratum has.
    """
    if not strata:
        raise ValueError("there is nothing to analyse")
    names = list(dict.fromkeys(group.name for each in strata for group in each.summaries))
    if options.baseline is not None and options.baseline not in names:
        known = ", ".join(repr(name) for name in sorted(names)[:20])
        raise ValueError(f"no group is called {options.baseline!r}; the groups are {known}")
    names.sort(key=lambda name: name != options.baseline)
    ordered = [_in_order(stratum, names) for stratum in strata]
    found = _corrected([_analyse_stratum(stratum, options) for stratum in ordered])
    told = (*notes, *_without(ordered, names[0]))
    return Analysis(options, tuple(found), _across(ordered, options), told)


def _in_order(stratum: Stratum, names: Sequence[str]) -> Stratum:
    """With its groups in one order for all strata: a pair has the same baseline in each."""
    place = {name: index for index, name in enumerate(names)}
    summaries = sorted(stratum.summaries, key=lambda group: place[group.name])
    samples = sorted(stratum.samples, key=lambda group: place[group.name])
    return Stratum(stratum.name, tuple(summaries), tuple(samples))


def _without(strata: Sequence[Stratum], baseline: str) -> list[str]:
    """What is told of strata that lack the baseline."""
    return [
        f"{each.name} has no group {baseline}: the first there is {each.summaries[0].name}"
        for each in strata
        if each.summaries[0].name != baseline
    ]


def _analyse_stratum(stratum: Stratum, options: Options) -> StratumAnalysis:
    groups, alpha = stratum.summaries, options.alpha
    checks = check_assumptions(stratum, alpha, order_known=options.order_known)
    method = _method(groups, checks)
    fisher, other = one_way(groups), welch(groups)
    ranks = kruskal_wallis(stratum.samples) if stratum.samples else NO_TEST
    p = _overall_p(method, fisher, other, ranks)
    comparisons = compare_all(groups, method, alpha, options.baseline)
    sensitivity = _sensitivity(groups, fisher, options)
    table = factorial(options.factors, groups)
    return StratumAnalysis(
        name=stratum.name,
        groups=tuple(_figures(group, alpha) for group in groups),
        checks=checks,
        outliers=find_outliers(stratum.samples),
        anova=fisher,
        welch=other,
        kruskal_wallis=ranks,
        factorial=table,
        method=method,
        p=p,
        p_holm=p,
        comparisons=comparisons,
        sensitivity=sensitivity,
        ministat=_ministat(stratum.samples, groups, alpha),
    )


def _figures(group: Summary, alpha: float) -> GroupFigures:
    low, high = group.mean_interval(alpha)
    return GroupFigures(
        name=group.name, levels=group.levels, n=group.n,
        minimum=group.minimum, maximum=group.maximum, median=group.median,
        mean=group.mean, sd=group.sd, cv=group.cv,
        mean_low=low, mean_high=high, geometric_mean=group.geometric_mean,
    )  # fmt: skip


def _method(groups: Sequence[Summary], checks: Sequence[Check]) -> Method:
    """Games-Howell where variances differ, unless a group of one has no variance of its own."""
    variance = next(check for check in checks if isinstance(check, EqualVariance))
    if variance.standing != "violated" or any(group.n < 2 for group in groups):
        return "Tukey-Kramer"
    return "Games-Howell"


def _overall_p(method: Method, fisher: OneWay | None, other: Test, ranks: Test) -> float:
    if method == "Games-Howell":
        return ranks.p if isnan(other.p) else other.p
    return fisher.p if fisher else nan


def _sensitivity(
    groups: Sequence[Summary], fisher: OneWay | None, options: Options
) -> Sensitivity | None:
    if fisher is None or isnan(fisher.mean_square_within) or not groups[0].mean:
        return None
    sd = sqrt(fisher.mean_square_within)
    n = min(group.n for group in groups)
    unit = abs(groups[0].mean) / 100.0
    return Sensitivity(
        n=n,
        pooled_sd=sd,
        detectable_80=detectable(sd, n, 0.8, options.alpha) / unit,
        detectable_90=detectable(sd, n, 0.9, options.alpha) / unit,
        effect=options.effect,
        needed_80=needed_n(options.effect * unit, sd, 0.8, options.alpha),
        needed_90=needed_n(options.effect * unit, sd, 0.9, options.alpha),
    )


def _ministat(
    samples: Sequence[Sample], groups: Sequence[Summary], alpha: float
) -> tuple[str, ...]:
    if samples:
        return tuple(ministat_report(samples, groups, alpha))
    if len(groups) != 2:
        return ()
    verdict = ministat_verdict(groups[0], groups[1], alpha)
    return tuple(verdict.lines()) if verdict else ()


def _corrected(found: list[StratumAnalysis]) -> list[StratumAnalysis]:
    """Holm over the strata: of the overall tests, and of each pair that several strata have."""
    overall = holm([each.p for each in found])
    pairs: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for i, each in enumerate(found):
        for j, pair in enumerate(each.comparisons):
            pairs.setdefault((pair.a, pair.b), []).append((i, j))
    comparisons = [list(each.comparisons) for each in found]
    for places in pairs.values():
        adjusted = holm([comparisons[i][j].p for i, j in places])
        for (i, j), p in zip(places, adjusted, strict=True):
            comparisons[i][j] = replace(comparisons[i][j], p_holm=p)
    return [
        replace(each, p_holm=p, comparisons=tuple(pairs_of))
        for each, p, pairs_of in zip(found, overall, comparisons, strict=True)
    ]


def _across(strata: Sequence[Stratum], options: Options) -> tuple[PairAcross, ...]:
    """Each group that is compared with the baseline in at least two strata."""
    if len(strata) < 2:
        return ()
    names = dict.fromkeys(group.name for stratum in strata for group in stratum.summaries[1:])
    found = []
    for name in names:
        pairs, samples = {}, {}
        for stratum in strata:
            places = {group.name: index for index, group in enumerate(stratum.summaries)}
            first = stratum.summaries[0]
            same = first.name == strata[0].summaries[0].name
            if not same or name not in places or name == first.name:
                continue
            pairs[str(stratum.name)] = (first, stratum.summaries[places[name]])
            if stratum.samples:
                samples[str(stratum.name)] = (stratum.samples[0], stratum.samples[places[name]])
        if len(pairs) < 2:
            continue
        mean = geometric_mean(pairs, samples, alpha=options.alpha, better=options.better)
        if mean is not None:
            found.append(PairAcross(mean, _gains(list(pairs.values()), options)))
    return tuple(found)


def _gains(pairs: Sequence[tuple[Summary, Summary]], options: Options) -> tuple[Gain, ...]:
    """Gains of costs; of rates the inverses are the costs."""
    if options.better == "lower":
        return gains([a.mean for a, _ in pairs], [b.mean for _, b in pairs])
    return gains([1 / a.mean for a, _ in pairs], [1 / b.mean for _, b in pairs])
