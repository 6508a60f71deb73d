# SPDX-License-Identifier: GPL-2.0-or-later
"""The whole of a factorial study at once: main effects, and whether factors work together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kernsmith.stats.blocks import BlockRow, factorial_in_blocks
from kernsmith.stats.effect import Effect, effect_of
from kernsmith.stats.means import Logs
from kernsmith.stats.observations import LogTable
from kernsmith.stats.question import Question
from kernsmith.stats.sequential import always_valid_effect

Combination = tuple[str, ...]
"""One level of each factor."""
ByLayout = dict[str, float]
"""The mean over workloads of a metric's logarithm. A layout is a block."""


@dataclass(frozen=True)
class LevelEffect:
    """One level of a factor against its first one, averaged over the levels of all others.

    p_corrected: for all that is exploratory in the study; None where there is no p.
    """

    factor: str
    level: str
    baseline: str
    effect: Effect
    p_corrected: float | None = None

    @property
    def significant(self) -> bool:
        """Whether the ratio differs from 1, corrected."""
        return self.p_corrected is not None and self.p_corrected < self.effect.alpha


@dataclass(frozen=True)
class FactorAnalysis:
    """One metric of a study with several factors.

    layouts: units of the sample (see `stats.observations`) in which every combination ended well.
        left_out: combinations of which there are fewer than two such.
    table: analysis of variance of the logarithms, with these units as blocks. It is that of a fixed
        number of them, also in a study that was looked at on the way.
    """

    metric: str
    factors: tuple[str, ...]
    layouts: int
    left_out: tuple[str, ...]
    table: tuple[BlockRow, ...]
    levels: tuple[LevelEffect, ...]


def analyse_factors(table: LogTable, question: Question) -> FactorAnalysis | None:
    """One metric over all factors; None for fewer than two, or without levels to compare."""
    if len(question.factors) < 2:
        return None
    names = tuple(name for name, _ in question.factors)
    logs: dict[Combination, ByLayout] = {}
    for variant in question.levels:
        levels = dict(question.levels[variant])
        key = tuple(levels[factor] for factor in names)
        # Two labels have layouts of their own: more blocks of the same combination.
        logs.setdefault(key, {}).update(_over_workloads(table, variant, question.workloads))
    scarce = [key for key, known in logs.items() if len(known) < 2]
    kept = {key: known for key, known in logs.items() if key not in scarce}
    first = next(iter(kept.values()), {})
    shared = [layout for layout in first if all(layout in known for known in kept.values())]
    effects = [
        LevelEffect(factor, level, levels_of[0], effect)
        for place, (factor, levels_of) in enumerate(question.factors)
        for level in levels_of[1:]
        if (effect := _effect(kept, place, (levels_of[0], level), shared, table, question))
    ]
    if not effects:
        return None
    left_out = tuple(
        " ".join(f"{name}={level}" for name, level in zip(names, key, strict=True))
        for key in scarce
    )
    rows = _table(names, kept, shared)
    return FactorAnalysis(table.metric, names, len(shared), left_out, rows, tuple(effects))


def _over_workloads(table: LogTable, variant: str, workloads: Sequence[str]) -> ByLayout:
    """Over the random layouts in which every workload ended well."""
    columns = [table.layouts((variant, workload)) for workload in workloads]
    return {
        layout: float(np.mean([column[layout] for column in columns]))
        for layout in columns[0]
        if all(layout in column for column in columns)
    }


def _table(
    names: Sequence[str], logs: Mapping[Combination, ByLayout], shared: Sequence[str]
) -> tuple[BlockRow, ...]:
    if len(shared) < 2:
        return ()
    figures = np.array([[known[layout] for layout in shared] for known in logs.values()])
    return factorial_in_blocks(names, list(logs), figures)


def _effect(
    logs: Mapping[Combination, ByLayout],
    place: int,
    pair: tuple[str, str],
    shared: Sequence[str],
    table: LogTable,
    question: Question,
) -> Effect | None:
    """Of two levels, over the combinations of other levels that both have."""
    by_others: dict[Combination, dict[str, ByLayout]] = {}
    for levels, known in logs.items():
        others = (*levels[:place], *levels[place + 1 :])
        by_others.setdefault(others, {})[levels[place]] = known
    both = [found for found in by_others.values() if set(pair) <= set(found)]
    if not both or not shared:
        return None
    old, new = (_mean([found[level] for found in both], shared) for level in pair)
    half_added = any(table.shifts.get(workload, 0.0) > 0 for workload in question.workloads)
    judged = always_valid_effect if question.looked_at else effect_of
    return judged(old, new, paired=True, half_added=half_added, alpha=question.alpha)


def _mean(columns: Sequence[ByLayout], layouts: Sequence[str]) -> Logs:
    """Over columns, for each layout."""
    return np.asarray(np.mean([[column[i] for i in layouts] for column in columns], axis=0))
