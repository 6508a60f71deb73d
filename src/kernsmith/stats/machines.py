# SPDX-License-Identifier: GPL-2.0-or-later
"""What two machines say of the same kernels in the same layouts: where they differ, and by what.

For variant v in layout l, g(v, l) is the mean over workloads of log second − log first. Units, the
clock's rate and all else that is the same for every kernel are in it, and leave it when two
variants are subtracted: the mean over layouts of g(treated) − g(baseline) is the logarithm of
second machine's ratio / first machine's ratio. Layouts are the unit, as in all verdicts
(`stats.effect`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import atanh, sqrt, tanh

import numpy as np
import scipy

from kernsmith.stats.agreement import spearman
from kernsmith.stats.effect import Effect, effect_of
from kernsmith.stats.multiple import holm
from kernsmith.stats.observations import (
    LogTable,
    Observation,
    are_paired,
    log_tables,
    sides_of,
)
from kernsmith.stats.question import OVERALL

_RANKED = 4
"""Fewer things have no order that two machines could share by more than luck."""


@dataclass(frozen=True)
class Side:
    """A machine's observations of one metric, whose values are above 0.

    exact: repeated runs are equal.
    """

    rows: tuple[Observation, ...]
    exact: bool = False

    @property
    def table(self) -> LogTable:
        """Logarithms by variant, workload and layout."""
        (table,) = log_tables(self.rows).values()
        return table


@dataclass(frozen=True)
class Compared:
    """A variant over all workloads (`overall`), or on one. effect: of second / first."""

    variant: str
    workload: str
    effect: Effect
    p_corrected: float | None

    @property
    def disagree(self) -> bool:
        """Whether the machines differ, corrected for all that is compared."""
        return self.p_corrected is not None and self.p_corrected < self.effect.alpha


@dataclass(frozen=True)
class Ranks:
    """Spearman's correlation. of: `layouts` or `workloads`. See `document.pair.RanksView`."""

    of: str
    variant: str
    n: int
    correlation: float
    ci: tuple[float, float] | None
    allowed: float | None


def compare_machines(
    first: Side, second: Side, variants: Sequence[str], workloads: Sequence[str], alpha: float
) -> tuple[Compared, ...]:
    """Each variant against the first one: over all workloads, then on each.

    What one of the machines has not measured is left out.
    """
    tables = (first.table, second.table)
    found: list[tuple[str, str, Effect]] = []
    for variant in variants[1:]:
        for name, names in [(OVERALL, workloads), *((each, (each,)) for each in workloads)]:
            effect = _between(tables, (variants[0], variant), names, alpha)
            if effect is not None:
                found.append((variant, name, effect))
    tested = [effect.p for _, _, effect in found if effect.p is not None]
    corrected = iter(holm(tested))
    return tuple(
        Compared(variant, name, effect, None if effect.p is None else next(corrected))
        for variant, name, effect in found
    )


def _between(
    tables: tuple[LogTable, LogTable],
    variants: tuple[str, str],
    workloads: Sequence[str],
    alpha: float,
) -> Effect | None:
    paired = all(are_paired(table, *variants, workloads) for table in tables)
    gaps = [_gaps(tables, variant, workloads) for variant in variants]
    if all(gaps):
        names = [list(each) for each in gaps]
        if paired:
            names = 2 * [[name for name in names[0] if name in gaps[1]]]
        if not all(names):
            return None
        old, new = (
            np.array([gap[name] for name in some]) for gap, some in zip(gaps, names, strict=True)
        )
        return effect_of(old, new, paired=paired, alpha=alpha)
    sides = [sides_of(table, *variants, workloads, paired) for table in tables]
    if any(table.layouts((v, w)) for table in tables for v in variants for w in workloads):
        return None
    if sides[0] is None or sides[1] is None:
        return None
    (old_first, new_first), (old_second, new_second) = sides[0], sides[1]
    return effect_of(old_second - old_first, new_second - new_first, paired=True, alpha=alpha)


def _gaps(
    tables: tuple[LogTable, LogTable], variant: str, workloads: Sequence[str]
) -> dict[str, float]:
    """g by layout: of those that both machines have measured with all workloads."""
    first, second = (_means(table, variant, workloads) for table in tables)
    return {name: second[name] - first[name] for name in first if name in second}


def _means(table: LogTable, variant: str, workloads: Sequence[str]) -> dict[str, float]:
    """By layout, the mean over workloads of the logarithms."""
    columns = [table.layouts((variant, workload)) for workload in workloads]
    shared = [name for name in columns[0] if all(name in column for column in columns)]
    return {name: float(np.mean([column[name] for column in columns])) for name in shared}


def rank_layouts(
    first: Side, second: Side, variants: Sequence[str], workloads: Sequence[str], alpha: float
) -> tuple[Ranks, ...]:
    """Of each variant: whether both machines find the same layouts fast.

    A correlation is the less the noisier the figures are. `allowed` is its mean for machines that
    agree wholly: the square root of the product of both reliabilities (Spearman 1904), each from
    two halves of the runs (Spearman 1910, Brown 1910); 1 for a machine whose runs are equal.
    """
    found = []
    for variant in variants:
        sides = [_means(side.table, variant, workloads) for side in (first, second)]
        shared = [name for name in sides[0] if name in sides[1]]
        if len(shared) < _RANKED:
            continue
        own, other = (np.array([side[name] for name in shared]) for side in sides)
        kept = [_reliability(side, variant, workloads, shared) for side in (first, second)]
        allowed = None if None in kept else sqrt((kept[0] or 0.0) * (kept[1] or 0.0))
        found.append(_ranks("layouts", variant, own, other, alpha, allowed))
    return tuple(found)


def _reliability(
    side: Side, variant: str, workloads: Sequence[str], layouts: Sequence[str]
) -> float | None:
    """How well a repetition would rank these layouts as these runs do; None without repetitions."""
    mine = [row for row in side.rows if row.variant == variant]
    counts: dict[tuple[str, str], list[Observation]] = {}
    for row in sorted(mine, key=lambda row: row.run):
        counts.setdefault((row.layout, row.workload), []).append(row)
    if not counts:
        return None
    if side.exact:
        return 1.0
    halves = []
    for half in (0, 1):
        rows = [row for some in counts.values() for row in some[half::2]]
        means = _means(Side(tuple(rows)).table, variant, workloads) if rows else {}
        if not all(name in means for name in layouts):
            return None
        halves.append(np.array([means[name] for name in layouts]))
    agreement = spearman(halves[0], halves[1])
    return 2 * agreement / (1 + agreement) if agreement > 0 else 0.0


def rank_workloads(
    first: Mapping[str, float], second: Mapping[str, float], variant: str, alpha: float
) -> Ranks | None:
    """Whether both machines find that the same workloads gain; None for fewer than four.

    first, second: the variant's ratios by workload.
    """
    shared = [name for name in first if name in second]
    if len(shared) < _RANKED:
        return None
    own, other = (np.array([side[name] for name in shared]) for side in (first, second))
    return _ranks("workloads", variant, own, other, alpha, None)


def _ranks(
    of: str,
    variant: str,
    first: np.ndarray,
    second: np.ndarray,
    alpha: float,
    allowed: float | None,
) -> Ranks:
    correlation = spearman(first, second)
    ci = rank_interval(correlation, len(first), alpha)
    return Ranks(of, variant, len(first), correlation, ci, allowed)


def rank_interval(correlation: float, n: int, alpha: float) -> tuple[float, float] | None:
    """Of Spearman's correlation, by Fisher's z with the variance (1 + r²/2) / (n − 3) (Bonett and
    Wright 2000); None for fewer than five."""
    if n < 5:
        return None
    if abs(correlation) >= 1:
        return (correlation, correlation)
    half = float(scipy.stats.norm.isf(alpha / 2)) * sqrt((1 + correlation**2 / 2) / (n - 3))
    middle = atanh(correlation)
    return (tanh(middle - half), tanh(middle + half))


def side_of(rows: Iterable[Observation], metric: str, *, exact: bool) -> Side | None:
    """A machine's observations of a metric; None without any, or with one that is not above 0."""
    mine = tuple(row for row in rows if row.metric == metric)
    return Side(mine, exact) if mine and all(row.value > 0 for row in mine) else None
