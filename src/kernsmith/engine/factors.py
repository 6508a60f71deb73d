# SPDX-License-Identifier: GPL-2.0-or-later
"""The whole of a factorial study at once: main effects, and whether factors work together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, log

import numpy as np

from kernsmith.engine.prepare import Prepared
from kernsmith.engine.verdicts import Measured, layout_values
from kernsmith.machine.metrics import METRICS, in_order
from kernsmith.stats.effect import Effect, paired_effect, unpaired_effect
from kernsmith.stats.factorial import FactorialRow, factorial
from kernsmith.stats.samples import Sample, summarise
from kernsmith.study import Variant

Logs = dict[str, float]
"""By layout: the mean over workloads of a metric's logarithm."""


@dataclass(frozen=True)
class LevelEffect:
    """One level of a factor against its first one, averaged over the levels of all others."""

    factor: str
    level: str
    baseline: str
    effect: Effect


@dataclass(frozen=True)
class FactorAnalysis:
    """One metric of a study with several factors.

    table: analysis of variance of the logarithms. Layouts are blocks when all variants share
        their seeds: what a seed does to all variants alike is no error.
    """

    metric: str
    factors: tuple[str, ...]
    layouts: int
    table: tuple[FactorialRow, ...]
    levels: tuple[LevelEffect, ...]


def analyse_factors(prepared: Prepared, measured: Sequence[Measured]) -> tuple[FactorAnalysis, ...]:
    """Headline metrics over all factors; nothing for a study with fewer than two of them."""
    factors = tuple(name for name, levels in prepared.study.factors if len(levels) > 1)
    if len(factors) < 2:
        return ()
    values = {variant: layout_values(measured, variant) for variant in prepared.variants}
    headlines = {metric.name for metric in METRICS if metric.headline}
    names = {metric for cells in values.values() for _, metric in cells} & headlines
    workloads = [workload.name for workload in prepared.workloads]
    found = []
    for metric in in_order(names):
        logs = {
            variant: mean
            for variant, cells in values.items()
            if (mean := _mean_logs([cells.get((name, metric), {}) for name in workloads]))
        }
        found.append(_analyse(prepared, metric, factors, logs))
    return tuple(analysis for analysis in found if analysis.levels)


def _mean_logs(by_workload: Sequence[Mapping[str, list[float]]]) -> Logs:
    """Over the random layouts in which every workload ended well."""
    layouts = set.intersection(*(set(cells) for cells in by_workload)) - {""}
    half = 0.5 if any(min(cells[i]) <= 0 for cells in by_workload for i in layouts) else 0.0
    return {
        layout: sum(
            sum(log(value + half) for value in cells[layout]) / len(cells[layout])
            for cells in by_workload
        )
        / len(by_workload)
        for layout in layouts
    }


def _analyse(
    prepared: Prepared, metric: str, factors: tuple[str, ...], logs: Mapping[Variant, Logs]
) -> FactorAnalysis:
    paired = len({variant.label for variant in logs}) == 1
    if paired and logs:
        shared = set.intersection(*map(set, logs.values()))
        logs = {variant: {i: known[i] for i in shared} for variant, known in logs.items()}
    alpha = prepared.study.design.alpha
    levels = dict(prepared.study.factors)
    effects = [
        LevelEffect(factor, level, levels[factor][0], effect)
        for factor in factors
        for level in levels[factor][1:]
        if (effect := _effect(logs, factor, (levels[factor][0], level), paired, alpha))
    ]
    counts = [len(known) for known in logs.values()]
    table = _table(factors, logs, paired) if counts and min(counts) > 1 else ()
    return FactorAnalysis(metric, factors, min(counts, default=0), table, tuple(effects))


def _table(
    factors: Sequence[str], logs: Mapping[Variant, Logs], paired: bool
) -> tuple[FactorialRow, ...]:
    blocks = sorted(next(iter(logs.values()))) if paired else []
    means = {i: sum(known[i] for known in logs.values()) / len(logs) for i in blocks}
    cells = []
    for variant, known in logs.items():
        values = np.array([known[i] - means.get(i, 0.0) for i in blocks or sorted(known)])
        order = np.arange(len(values))
        levels = dict(variant.levels)
        cells.append(
            summarise(Sample(tuple(levels[name] for name in factors), values, order, order))
        )
    return factorial(factors, cells, blocks=max(1, len(blocks)))


def _effect(
    logs: Mapping[Variant, Logs], factor: str, pair: tuple[str, str], paired: bool, alpha: float
) -> Effect | None:
    """Of two levels, over the combinations of other levels that both have."""
    by_others: dict[tuple[tuple[str, str], ...], dict[str, Logs]] = {}
    for variant, known in logs.items():
        others = tuple(item for item in variant.levels if item[0] != factor)
        by_others.setdefault(others, {})[dict(variant.levels)[factor]] = known
    both = [found for found in by_others.values() if set(pair) <= set(found)]
    if not both:
        return None
    old, new = (_averaged([found[level] for found in both]) for level in pair)
    compare = paired_effect if paired else unpaired_effect
    return compare(old, new, alpha=alpha) if old and new else None


def _averaged(parts: Sequence[Logs]) -> list[float]:
    """Geometric means, one a layout that all parts have."""
    layouts = sorted(set.intersection(*map(set, parts)))
    return [exp(sum(part[i] for part in parts) / len(parts)) for i in layouts]
