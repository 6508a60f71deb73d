# SPDX-License-Identifier: GPL-2.0-or-later
"""The one statistic: from the observations of a study to verdicts, and what more it would take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kernsmith.stats.components import Component, Need, needed, variance_components
from kernsmith.stats.design import analyse_factors
from kernsmith.stats.effect import effect_of
from kernsmith.stats.means import zero_shift
from kernsmith.stats.observations import (
    DEFAULT_LAYOUT,
    LogTable,
    Observation,
    are_paired,
    default_of,
    log_tables,
    sides_of,
)
from kernsmith.stats.question import OVERALL, Question
from kernsmith.stats.sequential import Look, always_valid_effect, look_at
from kernsmith.stats.verdict import Family, Judgement, Verdict, correct

POWERS = (0.8, 0.9)


@dataclass(frozen=True)
class WorkloadComponents:
    """Components of variance of one workload over all variants, and what more it would take."""

    workload: str
    components: tuple[Component, ...]
    needs: tuple[Need, ...]


@dataclass(frozen=True)
class MetricAnalysis:
    """A metric of a study.

    verdicts: corrected for all metrics of the study.
    sequential: by variant, the always-valid look at the overall log ratio; only for paired
    layouts. missing: workloads of which layouts of a variant are missing, so that there is no
    verdict over the whole mix.
    """

    metric: str
    baseline: str
    verdicts: tuple[Verdict, ...]
    components: tuple[WorkloadComponents, ...]
    sequential: tuple[tuple[str, Look], ...]
    missing: tuple[str, ...]


def judge(rows: Sequence[Observation], question: Question) -> Judgement:
    """Compare every variant with the first one, and correct for all that is compared.

    Raises:
        ValueError: negative or non-finite values.
    """
    tables = log_tables(rows)
    asked = [tables[metric] for metric in question.metrics if metric in tables]
    verdicts = [
        verdict
        for variant in question.variants[1:]
        for table in asked
        for verdict in _compare(table, question, variant)
    ]
    factors = [
        found
        for table in asked
        if table.metric in question.primary
        if (found := analyse_factors(table, question)) is not None
    ]
    return correct(verdicts, factors, question.alpha)


def log_ratios(
    rows: Sequence[Observation], metric: str, question: Question, variant: str
) -> list[float]:
    """Of one metric, variant / baseline: one mean over workloads a random layout.

    In the order in which layouts were drawn; empty where there is no layout in which all workloads
    ended well.
    """
    table = log_tables(row for row in rows if row.metric == metric).get(metric)
    if table is None:
        return []
    baseline, workloads = question.variants[0], question.workloads
    paired = are_paired(table, baseline, variant, workloads)
    sides = sides_of(table, baseline, variant, workloads, paired)
    if sides is None:
        return []
    n = min(map(len, sides))
    return [float(ratio) for ratio in sides[1][:n] - sides[0][:n]]


def _compare(table: LogTable, question: Question, variant: str) -> list[Verdict]:
    """One variant and metric: the mixes, then each workload."""
    baseline, mixes = question.variants[0], question.mixes(variant)
    trained = question.trained.get(variant)
    paired = are_paired(table, baseline, variant, question.workloads)
    judged = always_valid_effect if question.looked_at else effect_of
    verdicts = []
    for name, names in [*mixes.items(), *((each, (each,)) for each in question.workloads)]:
        sides = sides_of(table, baseline, variant, names, paired)
        if sides is None:
            continue
        half_added = any(table.shifts[each] > 0 for each in names)
        primary = name == OVERALL and table.metric in question.primary
        family: Family = "primary" if primary else "exploratory"
        verdicts.append(
            Verdict(
                variant=variant,
                workload=name,
                metric=table.metric,
                effect=judged(*sides, paired=paired, half_added=half_added, alpha=question.alpha),
                default=default_of(table, baseline, variant, names),
                trained=name in trained if trained is not None and name not in mixes else None,
                baseline=tuple(sides[0].tolist()),
                treated=tuple(sides[1].tolist()),
                family=family,
            )
        )
    return verdicts


def analyse(
    rows: Sequence[Observation], question: Question, *, percent: float = 1.0
) -> tuple[MetricAnalysis, ...]:
    """Verdicts of every metric that is asked for, with components of variance.

    percent: the change for which the needed layouts and runs are told.

    Raises:
        ValueError: no run has one of the metrics, or negative or non-finite values.
    """
    measured = {row.metric for row in rows}
    for metric in question.metrics:
        if metric not in measured:
            raise ValueError(f"no finished run has the metric {metric!r}")
    verdicts = judge(rows, question).verdicts
    return tuple(
        _analyse(
            [row for row in rows if row.metric == metric],
            tuple(verdict for verdict in verdicts if verdict.metric == metric),
            metric,
            question,
            percent,
        )
        for metric in question.metrics
    )


def _analyse(
    rows: Sequence[Observation],
    verdicts: tuple[Verdict, ...],
    metric: str,
    question: Question,
    percent: float,
) -> MetricAnalysis:
    overall = [verdict for verdict in verdicts if verdict.workload == OVERALL]
    looks = [
        (verdict.variant, look_at(ratios, alpha=question.alpha))
        for verdict in overall
        if verdict.effect.paired
        if (ratios := log_ratios(rows, metric, question, verdict.variant))
    ]
    components = (_components(rows, name, percent, question.alpha) for name in question.workloads)
    judged = {(verdict.variant, verdict.workload) for verdict in verdicts}
    return MetricAnalysis(
        metric=metric,
        baseline=question.variants[0],
        verdicts=verdicts,
        components=tuple(parts for parts in components if parts is not None),
        sequential=tuple(looks),
        missing=tuple(
            workload
            for workload in question.workloads
            if any((variant, workload) not in judged for variant in question.variants[1:])
        ),
    )


def _components(
    rows: Sequence[Observation], workload: str, percent: float, alpha: float
) -> WorkloadComponents | None:
    """Of random layouts; the default one is a point, not a draw."""
    mine = [row for row in rows if row.workload == workload]
    shift = zero_shift(row.value for row in mine)
    mine = [row for row in mine if row.layout != DEFAULT_LAYOUT] or mine
    if not mine:
        return None
    found = variance_components(
        [row.value + shift for row in mine],
        [row.variant for row in mine],
        [row.layout for row in mine],
        [row.boot for row in mine],
    )
    if not found:
        return None
    variants = len({row.variant for row in mine})
    layouts = len({(row.variant, row.layout) for row in mine})
    boots = len({(row.variant, row.layout, row.boot) for row in mine})
    design = (
        max(1, layouts // variants),
        max(1, boots // layouts),
        max(1, len(mine) // boots),
    )
    needs = tuple(needed(found, design, percent, power, alpha) for power in POWERS)
    return WorkloadComponents(workload, found, needs)
