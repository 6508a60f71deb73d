# SPDX-License-Identifier: GPL-2.0-or-later
"""The whole of a factorial study at once: main effects, and whether factors work together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, log

import numpy as np

from kernsmith.engine.prepare import Prepared
from kernsmith.engine.verdicts import Measured, Values, layout_values, primary_metric
from kernsmith.machine.metrics import METRICS, in_order
from kernsmith.stats.blocks import BlockRow, factorial_in_blocks
from kernsmith.stats.effect import Effect, paired_effect
from kernsmith.study import Variant

# Two labels have layouts of their own: more blocks of the same combination, and no factor.
LABEL = "label"

Levels = tuple[str, ...]
Logs = dict[str, float]
"""By block: the mean over workloads of a metric's logarithm. A block is a layout (of a label)."""


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

    layouts: random layouts in which every combination ended well. left_out: combinations of which
        there are fewer than two such layouts.
    table: analysis of variance of the logarithms, with layouts as blocks.
    """

    metric: str
    factors: tuple[str, ...]
    layouts: int
    left_out: tuple[str, ...]
    table: tuple[BlockRow, ...]
    levels: tuple[LevelEffect, ...]


def analyse_factors(prepared: Prepared, measured: Sequence[Measured]) -> tuple[FactorAnalysis, ...]:
    """Headline metrics and the study's own over all factors; nothing for fewer than two factors."""
    factors = tuple(
        name for name, levels in prepared.study.factors if len(levels) > 1 and name != LABEL
    )
    if len(factors) < 2:
        return ()
    values = {variant: layout_values(measured, variant) for variant in prepared.variants}
    there = {metric for cells in values.values() for _, metric in cells}
    wanted = {metric.name for metric in METRICS if metric.headline}
    wanted.add(primary_metric(prepared.study.design, there))
    found = [_analyse(prepared, name, factors, values) for name in in_order(there & wanted)]
    return tuple(analysis for analysis in found if analysis.levels)


def _analyse(
    prepared: Prepared, metric: str, factors: tuple[str, ...], values: Mapping[Variant, Values]
) -> FactorAnalysis:
    by_workload = [
        {variant: cells.get((work.name, metric), {}) for variant, cells in values.items()}
        for work in prepared.workloads
    ]
    halves = [_half(cells) for cells in by_workload]
    logs: dict[Levels, Logs] = {}
    names: dict[Levels, str] = {}
    for variant in prepared.variants:
        levels = dict(variant.levels)
        key = tuple(levels[factor] for factor in factors)
        parts = [cells[variant] for cells in by_workload]
        logs.setdefault(key, {}).update(_mean_logs(variant.label, parts, halves))
        names[key] = " ".join(f"{name}={level}" for name, level in zip(factors, key, strict=True))
    few = {key for key, known in logs.items() if len(known) < 2}
    logs = {key: known for key, known in logs.items() if key not in few}
    shared = sorted(set.intersection(*map(set, logs.values()))) if logs else []
    table: tuple[BlockRow, ...] = ()
    if len(shared) > 1:
        figures = np.array([[known[i] for i in shared] for known in logs.values()])
        table = factorial_in_blocks(factors, list(logs), figures)
    levels_of, alpha = dict(prepared.study.factors), prepared.study.design.alpha
    effects = [
        LevelEffect(factor, level, levels_of[factor][0], effect)
        for place, factor in enumerate(factors)
        for level in levels_of[factor][1:]
        if (effect := _effect(logs, place, (levels_of[factor][0], level), shared, alpha))
    ]
    left_out = tuple(names[key] for key in names if key in few)
    return FactorAnalysis(metric, factors, len(shared), left_out, table, tuple(effects))


def _half(cells: Mapping[Variant, Mapping[str, list[float]]]) -> float:
    """0.5 for all figures of a workload when one of them is zero."""
    figures = [
        value for by_layout in cells.values() for i, own in by_layout.items() if i for value in own
    ]
    return 0.5 if min(figures, default=1.0) <= 0 else 0.0


def _mean_logs(
    label: str, by_workload: Sequence[Mapping[str, list[float]]], halves: Sequence[float]
) -> Logs:
    """Over the random layouts in which every workload ended well."""
    layouts = set.intersection(*(set(cells) for cells in by_workload)) - {""}
    parts = list(zip(by_workload, halves, strict=True))
    return {
        f"{label}.{layout}": sum(
            sum(log(value + half) for value in cells[layout]) / len(cells[layout])
            for cells, half in parts
        )
        / len(parts)
        for layout in layouts
    }


def _effect(
    logs: Mapping[Levels, Logs], place: int, pair: tuple[str, str], shared: list[str], alpha: float
) -> Effect | None:
    """Of two levels, over the combinations of other levels that both have."""
    by_others: dict[Levels, dict[str, Logs]] = {}
    for levels, known in logs.items():
        others = (*levels[:place], *levels[place + 1 :])
        by_others.setdefault(others, {})[levels[place]] = known
    both = [found for found in by_others.values() if set(pair) <= set(found)]
    if not both or not shared:
        return None
    old, new = (
        [exp(sum(found[level][i] for found in both) / len(both)) for i in shared] for level in pair
    )
    return paired_effect(old, new, alpha=alpha)
