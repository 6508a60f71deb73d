# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds of a program against its baseline, by what was measured alone.

The sample is that of every verdict: random layouts that both builds have, in pairs. The default
layouts, one binary of each, stand beside it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kernsmith.stats.agreement import Measured
from kernsmith.stats.effect import Effect, effect_of

DEFAULT = "default"
"""The layout that is not drawn."""


@dataclass(frozen=True)
class BuildEffect:
    """A build against the baseline.

    effect: over the random layouts that both have; None when they have none in common.
    default: the ratio of the default layouts; None when one of them was not measured.
    noise: how far two halves of the runs are apart in what the ratio is made of (the random
        layouts; the default ones where there are no others), in percentage points, halved.
    """

    group: str
    build: str
    effect: Effect | None
    default: float | None
    noise: float


def build_effects(
    rows: Sequence[Measured], baseline: str, alpha: float = 0.05
) -> tuple[BuildEffect, ...]:
    """All builds but the baseline, in the order of the rows; what shares no layout with the
    baseline of its group is left out.

    Raises:
        ValueError: a figure that is not positive.
    """
    if any(min(row.measured, row.first, row.second) <= 0 for row in rows):
        raise ValueError("builds are compared by positive figures")
    by_build: dict[tuple[str, str], dict[str, Measured]] = {}
    for row in rows:
        by_build.setdefault((row.group, row.build), {})[row.layout] = row
    found = []
    for (group, build), layouts in by_build.items():
        base = by_build.get((group, baseline), {})
        common = [name for name in layouts if name in base]
        if build != baseline and common:
            pairs = {name: (base[name], layouts[name]) for name in common}
            found.append(_compare(group, build, pairs, alpha))
    return tuple(found)


def _compare(
    group: str, build: str, pairs: dict[str, tuple[Measured, Measured]], alpha: float
) -> BuildEffect:
    """pairs: by layout, the baseline and the build."""
    drawn = [pair for name, pair in pairs.items() if name != DEFAULT]
    effect = None
    if drawn:
        old, new = (np.log([pair[side].measured for pair in drawn]) for side in (0, 1))
        effect = effect_of(old, new, paired=True, alpha=alpha)
    default = None
    if DEFAULT in pairs:
        old_one, new_one = pairs[DEFAULT]
        default = new_one.measured / old_one.measured
    return BuildEffect(group, build, effect, default, _noise(drawn or list(pairs.values())))


def _noise(pairs: Sequence[tuple[Measured, Measured]]) -> float:
    first = np.mean([math.log(new.first / old.first) for old, new in pairs])
    second = np.mean([math.log(new.second / old.second) for old, new in pairs])
    return 50 * abs(float(first - second))
