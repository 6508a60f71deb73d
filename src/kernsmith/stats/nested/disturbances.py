# SPDX-License-Identifier: GPL-2.0-or-later
"""What speaks against a measurement: drift and outliers. Told, never taken out.

Who drops outliers decides what the machine does; who hides a drift sells warming up as a change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import exp
from typing import Literal

import numpy as np
import scipy

from kernsmith.stats.multiple import holm
from kernsmith.stats.nested.timings import Key, Level, Timing, grouped

_FENCE = 3.0
"""Interquartile ranges: Tukey's (1977) outer fence, which 1 in 400,000 normal values is beyond."""
_FEWEST = 5


@dataclass(frozen=True)
class Drift:
    """A straight line through what a variant's times do.

    within: `boots` (runs of a boot, from its first to its last) or `study` (from the first run of
        the study to the last).
    percent: change of the time from the first to the last. p: corrected over the lines of a study.
    """

    variant: str
    within: Literal["boots", "study"]
    percent: float
    p: float


@dataclass(frozen=True)
class Outlier:
    """A group beyond Tukey's outer fences of its kind.

    level: a run among those of its boot, a boot among those of its layout, a layout among those of
        its variant; each kind's deviations are taken together.
    percent: how far it is from the median of its parent.
    """

    variant: str
    level: Level
    key: Key
    percent: float


def drifts(rows: Sequence[Timing], alpha: float = 0.05) -> tuple[Drift, ...]:
    """Lines whose slope differs from 0 after Holm's correction over all of them.

    Within boots: the deviations of runs from their boot's mean, over their place in it. Over the
    study: the deviations of runs from their layout's mean over the place of all runs, boot by boot
    where a layout has several; with one boot a layout there is nothing to be seen beside layouts.
    """
    lines: list[tuple[str, Literal["boots", "study"], float, float]] = []
    for variant in dict.fromkeys(row.variant for row in rows):
        own = [row for row in rows if row.variant == variant]
        for within, points in (("boots", _within_boots(own)), ("study", _over_study(own))):
            found = _line(*points)
            if found is not None:
                lines.append((variant, "boots" if within == "boots" else "study", *found))
    corrected = holm([p for *_, p in lines])
    return tuple(
        Drift(variant, within, 100.0 * (exp(total) - 1.0), p)
        for (variant, within, total, _), p in zip(lines, corrected, strict=True)
        if p < alpha
    )


Points = tuple[list[float], list[float], int]
"""Places, deviations, and the means that were taken off."""


def _within_boots(rows: Sequence[Timing]) -> Points:
    places, deviations, groups = list[float](), list[float](), 0
    for runs in grouped(rows, "boot").values():
        if len(runs) < 2:
            continue
        logs = np.array([row.log for row in runs])
        here = np.arange(len(runs)) - (len(runs) - 1) / 2
        places += here.tolist()
        deviations += (logs - logs.mean()).tolist()
        groups += 1
    return places, deviations, groups


def _over_study(rows: Sequence[Timing]) -> Points:
    """Means of boots where layouts have several; runs where there is one boot in all."""
    boots = grouped(rows, "boot")
    if len(boots) == 1:
        return [], [], 0
    places, deviations, groups = list[float](), list[float](), 0
    for layout in grouped(rows, "layout").values():
        own = grouped(layout, "boot").values()
        if len(own) < 2:
            continue
        logs = np.array([np.mean([row.log for row in boot]) for boot in own])
        when = np.array([np.mean([row.position for row in boot]) for boot in own])
        places += (when - when.mean()).tolist()
        deviations += (logs - logs.mean()).tolist()
        groups += 1
    return places, deviations, groups


def _line(places: list[float], deviations: list[float], groups: int) -> tuple[float, float] | None:
    """The change from the first place to the last, and p of the slope.

    Both are deviations from means of groups, so the slope is the pooled one within groups, with
    n - groups - 1 degrees of freedom.
    """
    df = len(places) - groups - 1
    x, y = np.array(places), np.array(deviations)
    square = float((x**2).sum())
    if df < _FEWEST - 2 or square == 0 or not y.any():
        return None
    slope = float((x * y).sum()) / square
    rest = float(((y - slope * x) ** 2).sum())
    error = np.sqrt(rest / df / square)
    p = float(2 * scipy.stats.t.sf(abs(slope) / error, df)) if error > 0 else 0.0
    return slope * float(np.ptp(x)), p


def outliers(rows: Sequence[Timing]) -> tuple[Outlier, ...]:
    """Runs, boots and layouts that lie far from their like, layouts first."""
    found: list[Outlier] = []
    for variant in dict.fromkeys(row.variant for row in rows):
        own = [row for row in rows if row.variant == variant]
        for level, parent in _PARENTS:
            found += _far(variant, level, list(_deviations(own, level, parent)))
    return tuple(found)


def _of_nothing(row: Timing) -> Key:
    return ()


_PARENTS: tuple[tuple[Level, Callable[[Timing], Key]], ...] = (
    ("layout", _of_nothing),
    ("boot", lambda row: row.key("layout")),
    ("run", lambda row: row.key("boot")),
)


def _deviations(
    rows: Sequence[Timing], level: Level, parent: Callable[[Timing], Key]
) -> Iterator[tuple[Key, float]]:
    """Each group's median logarithm against the median of its siblings."""
    families: dict[Key, list[tuple[Key, float]]] = {}
    for key, own in grouped(rows, level).items():
        value = float(np.median([row.log for row in own]))
        families.setdefault(parent(own[0]), []).append((key, value))
    for family in families.values():
        if len(family) < 2:
            continue
        middle = float(np.median([value for _, value in family]))
        yield from ((key, value - middle) for key, value in family)


def _far(variant: str, level: Level, deviations: Sequence[tuple[Key, float]]) -> list[Outlier]:
    if len(deviations) < _FEWEST:
        return []
    values = np.array([value for _, value in deviations])
    low, high = np.percentile(values, [25, 75])
    fence = _FENCE * (high - low)
    return [
        Outlier(variant, level, key, 100.0 * (exp(value) - 1.0))
        for key, value in deviations
        if value < low - fence or value > high + fence
    ]
