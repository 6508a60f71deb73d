# SPDX-License-Identifier: GPL-2.0-or-later
"""From the runs of a study to effects, components of variance, and what more it would take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, isfinite, log, nan

from kernsmith.stats.components import Component, Need, needed, variance_components
from kernsmith.stats.effect import Effect, overall_effect, paired_effect, unpaired_effect
from kernsmith.stats.multiple import holm
from kernsmith.stats.sequential import Look, look_at

DEFAULT_LAYOUT = "default"
POWERS = (0.8, 0.9)


@dataclass(frozen=True)
class Observation:
    """One metric of one run. block: trials of one block ran next to each other."""

    variant: str
    layout: str
    workload: str
    boot: str
    run: int
    block: int
    metric: str
    value: float


@dataclass(frozen=True)
class WorkloadEffect:
    """One variant against the baseline on one workload; None: over all workloads.

    p_holm: corrected over the workloads of this variant. baseline, treated: value of each layout,
    for charts.
    """

    variant: str
    workload: str | None
    effect: Effect
    p_holm: float | None
    baseline: tuple[float, ...]
    treated: tuple[float, ...]


@dataclass(frozen=True)
class WorkloadComponents:
    """Components of variance of one workload over all variants, and what more it would take."""

    workload: str
    components: tuple[Component, ...]
    needs: tuple[Need, ...]


@dataclass(frozen=True)
class MetricAnalysis:
    """A metric of a study.

    sequential: by variant, the always-valid look at the overall log ratio; only for paired
    layouts. missing: workloads left out because layouts of a variant are missing.
    """

    metric: str
    baseline: str
    effects: tuple[WorkloadEffect, ...]
    components: tuple[WorkloadComponents, ...]
    sequential: tuple[tuple[str, Look], ...]
    missing: tuple[str, ...]


Values = dict[tuple[str, str], dict[str, list[float]]]
"""Values by (variant, workload) and layout."""
Means = dict[str, float]
"""One value a layout."""
Column = list[float]


def analyse_metric(
    rows: Sequence[Observation],
    metric: str,
    *,
    alpha: float = 0.05,
    percent: float = 1.0,
    baseline: str | None = None,
) -> MetricAnalysis:
    """Effects of each variant against the baseline, which is the first variant by default.

    The default layout is one point, not a draw: where random layouts exist, only they count.

    Raises:
        ValueError: no run has this metric, or no variant is called ``baseline``.
    """
    mine = [row for row in rows if row.metric == metric]
    if not mine:
        raise ValueError(f"no finished run has the metric {metric!r}")
    if any(row.layout != DEFAULT_LAYOUT for row in mine):
        mine = [row for row in mine if row.layout != DEFAULT_LAYOUT]
    variants = list(dict.fromkeys(row.variant for row in mine))
    baseline = baseline if baseline is not None else variants[0]
    if baseline not in variants:
        raise ValueError(f"no variant is called {baseline!r}; there are {', '.join(variants)}")
    values = _values(mine)
    effects: list[WorkloadEffect] = []
    sequential: list[tuple[str, Look]] = []
    missing: set[str] = set()
    for variant in variants:
        if variant == baseline:
            continue
        found, left_out = _effects(values, baseline, variant, alpha)
        effects += found
        missing |= set(left_out)
        overall = next((each for each in found if each.workload is None), None)
        if overall is not None and overall.effect.paired:
            sequential.append((variant, _look(overall, alpha)))
    workloads = list(dict.fromkeys(row.workload for row in mine))
    return MetricAnalysis(
        metric=metric,
        baseline=baseline,
        effects=tuple(effects),
        components=tuple(
            parts
            for workload in workloads
            if (parts := _components(mine, workload, percent, alpha)) is not None
        ),
        sequential=tuple(sequential),
        missing=tuple(sorted(missing)),
    )


def _values(rows: Sequence[Observation]) -> Values:
    values: Values = {}
    for row in sorted(rows, key=lambda row: row.block):
        by_layout = values.setdefault((row.variant, row.workload), {})
        by_layout.setdefault(row.layout, []).append(row.value)
    return values


def _effects(
    values: Values, baseline: str, variant: str, alpha: float
) -> tuple[list[WorkloadEffect], list[str]]:
    workloads = [workload for name, workload in values if name == baseline]
    missing = [workload for workload in workloads if (variant, workload) not in values]
    present = [workload for workload in workloads if workload not in missing]
    paired = _is_paired(values, baseline, variant, present)
    means = {w: (_means(values[baseline, w]), _means(values[variant, w])) for w in present}
    test = paired_effect if paired else unpaired_effect
    sides = {w: _common([means[w]], paired)[0] for w in present}
    found = {w: test(old, new, alpha=alpha) for w, (old, new) in sides.items()}
    p_values = [effect.p if effect.p is not None else nan for effect in found.values()]
    effects = [
        WorkloadEffect(variant, w, found[w], p if isfinite(p) else None, *map(tuple, sides[w]))
        for w, p in zip(found, holm(p_values), strict=True)
    ]
    return effects + _overall(variant, means, paired, alpha), missing


def _means(by_layout: dict[str, list[float]]) -> Means:
    return {layout: _centre(values) for layout, values in by_layout.items()}


def _common(sides: Sequence[tuple[Means, Means]], paired: bool) -> list[tuple[Column, Column]]:
    """Values in the layouts that all workloads have, in one order; paired: on both sides."""
    old = [layout for layout in sides[0][0] if all(layout in side[0] for side in sides)]
    new = [layout for layout in sides[0][1] if all(layout in side[1] for side in sides)]
    if paired:
        old = new = [layout for layout in old if layout in new]
    return [([a[each] for each in old], [b[each] for each in new]) for a, b in sides]


def _overall(
    variant: str, means: dict[str, tuple[Means, Means]], paired: bool, alpha: float
) -> list[WorkloadEffect]:
    """Over all workloads, in the layouts that all of them have; none where there is no such."""
    if not means:
        return []
    sides = _common(list(means.values()), paired)
    if not sides[0][0] or not sides[0][1]:
        return []
    effect = overall_effect(dict(zip(means, sides, strict=True)), paired, alpha=alpha)
    old, new = (
        tuple(_centre(list(layout)) for layout in zip(*(side[i] for side in sides), strict=True))
        for i in (0, 1)
    )
    return [WorkloadEffect(variant, None, effect, effect.p, old, new)]


def _is_paired(values: Values, baseline: str, variant: str, workloads: Sequence[str]) -> bool:
    """Whether the two variants have layouts in common on every workload that both have."""
    return all(set(values[baseline, w]) & set(values[variant, w]) for w in workloads)


def _centre(values: Sequence[float]) -> float:
    """Geometric mean; the arithmetic one where a value is 0."""
    if any(value <= 0 for value in values):
        return sum(values) / len(values)
    return exp(sum(map(log, values)) / len(values))


def _look(overall: WorkloadEffect, alpha: float) -> Look:
    extra = 0.5 if overall.effect.half_added else 0.0
    logs = [
        log((new + extra) / (old + extra))
        for old, new in zip(overall.baseline, overall.treated, strict=True)
    ]
    return look_at(logs, alpha=alpha)


def _components(
    rows: Sequence[Observation], workload: str, percent: float, alpha: float
) -> WorkloadComponents | None:
    mine = [row for row in rows if row.workload == workload]
    if any(row.value <= 0 for row in mine):
        return None
    found = variance_components(
        [row.value for row in mine],
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
