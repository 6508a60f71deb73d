# SPDX-License-Identifier: GPL-2.0-or-later
"""The verdict's interval for the ratio of two variants under the nested design.

The *unit* is a group of the highest level that both sides repeat. Its value is the mean over its
boots of the mean over their runs, of logarithms: whatever varies below is in the spread of the
units, in the right proportion, for any number of boots and runs that is the same in all of them. So
Student's interval of the units holds (Kalibera & Jones 2013, 6.3 and 7; for two sides paired, or
Welch's). Of a level above that is not repeated the figures say nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kernsmith.stats.components import Component, variance_components
from kernsmith.stats.effect import Effect, effect_of
from kernsmith.stats.means import Logs
from kernsmith.stats.nested.disturbances import Drift, Outlier, drifts, outliers
from kernsmith.stats.nested.robust import Robust, robust_shift
from kernsmith.stats.nested.timings import LEVELS, Key, Level, Timing, grouped
from kernsmith.stats.sequential import always_valid_effect


@dataclass(frozen=True)
class Units:
    """Both sides of a comparison, one value a unit in the order in which they were measured.

    level: what a unit is; None where not even runs are repeated on both sides.
    fixed: the levels above it: the figures hold for these layouts, or these boots, only.
    old, new: means of logarithms. old_middle, new_middle: medians of runs in place of means, which
        single disturbed runs do not move.
    paired: element i of both sides belongs together.
    """

    level: Level | None
    fixed: tuple[Level, ...]
    old: Logs
    new: Logs
    old_middle: Logs
    new_middle: Logs
    paired: bool

    @property
    def log_ratios(self) -> list[float]:
        """new - old unit by unit, for `stats.sequential`; independent units by their order."""
        n = min(len(self.old), len(self.new))
        return [float(ratio) for ratio in self.new[:n] - self.old[:n]]


@dataclass(frozen=True)
class NestedEffect:
    """The effect of a variant on a time, and what may be held against it.

    effect: of the means. robust: of the medians; None with one unit.
    components: of variance, over both variants. drifts, outliers: told, never taken out.
    """

    effect: Effect
    units: Units
    robust: Robust | None
    components: tuple[Component, ...]
    drifts: tuple[Drift, ...]
    outliers: tuple[Outlier, ...]

    @property
    def robust_differs(self) -> bool:
        """Whether the robust estimate lies outside the interval of the means."""
        ci = self.effect.ci
        return bool(self.robust and ci and not ci[0] <= self.robust.ratio <= ci[1])


def nested_effect(
    rows: Sequence[Timing],
    baseline: str,
    treated: str,
    *,
    alpha: float = 0.05,
    looked_at: bool = False,
) -> NestedEffect:
    """Of one workload.

    looked_at: the study was looked at on the way, and may have been stopped for what was seen:
        interval and p are always-valid ones.

    Raises:
        ValueError: no runs of a variant, or a time that is not positive.
    """
    sides = [[row for row in rows if row.variant == name] for name in (baseline, treated)]
    units = pair_units(*sides)
    judged = always_valid_effect if looked_at else effect_of
    effect = judged(units.old, units.new, paired=units.paired, alpha=alpha)
    robust = None
    if units.level is not None:
        robust = robust_shift(units.old_middle, units.new_middle, paired=units.paired, alpha=alpha)
    both = [*sides[0], *sides[1]]
    components = variance_components(
        [row.value for row in both],
        [row.variant for row in both],
        [row.layout for row in both],
        [row.boot for row in both],
    )
    return NestedEffect(effect, units, robust, components, drifts(both, alpha), outliers(both))


def pair_units(old: Sequence[Timing], new: Sequence[Timing]) -> Units:
    """The units of two sides.

    They are paired where two or more of one side have their counterpart on the other; those
    without one are then left out.

    Raises:
        ValueError: a side without runs.
    """
    if not old or not new:
        raise ValueError("no runs: every side of a comparison needs at least one")
    for place, level in enumerate(LEVELS):
        sides = grouped(old, level), grouped(new, level)
        shared = [key for key in sides[0] if key in sides[1]]
        if len(shared) >= 2:
            keys = (shared, shared)
        elif min(map(len, sides)) >= 2:
            keys = (list(sides[0]), list(sides[1]))
        else:
            continue
        return _units(level, LEVELS[:place], sides, keys, paired=len(shared) >= 2)
    sides = grouped(old, "run"), grouped(new, "run")
    return _units(None, LEVELS, sides, (list(sides[0]), list(sides[1])), paired=False)


def _units(
    level: Level | None,
    fixed: tuple[Level, ...],
    sides: tuple[dict[Key, list[Timing]], dict[Key, list[Timing]]],
    keys: tuple[list[Key], list[Key]],
    *,
    paired: bool,
) -> Units:
    means, middles = (
        [
            np.array([over_boots(side[key], middle=middle) for key in wanted])
            for side, wanted in zip(sides, keys, strict=True)
        ]
        for middle in (False, True)
    )
    return Units(level, fixed, means[0], means[1], middles[0], middles[1], paired)


def over_boots(rows: Sequence[Timing], *, middle: bool = False) -> float:
    """Mean over boots of the mean, or the median, of the logarithms of their runs."""
    boots = grouped(rows, "boot").values()
    inner = np.median if middle else np.mean
    return float(np.mean([inner([row.log for row in boot]) for boot in boots]))
