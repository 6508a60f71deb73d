# SPDX-License-Identifier: GPL-2.0-or-later
"""Orders of a build's functions against the default one, by what was measured of single binaries.

An order that is made is one binary, and so is the default one. How far binaries are apart that
nobody has made better or worse is told by the random layouts beside them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from kernsmith.stats.agreement import Measured
from kernsmith.stats.builds import DEFAULT

MADE = "order:"
"""How layouts begin that are made and not drawn."""

RANDOM = "random"


@dataclass(frozen=True)
class OrderEffect:
    """An order against the default one of the same build, or all random layouts against it.

    ratio: of the measured figures; of random layouts, the geometric mean. bounds: of these, the
        lowest and the highest. noise: how far two halves of the runs are apart in the ratio, in
        percentage points, halved. modelled: the ratio that a model tells.
    """

    group: str
    build: str
    order: str
    ratio: float
    bounds: tuple[float, float] | None
    noise: float
    modelled: float | None


def is_made(layout: str) -> bool:
    """Whether it is an order that was made."""
    return layout.startswith(MADE)


def order_effects(
    rows: Sequence[Measured], modelled: Sequence[float] | None = None
) -> tuple[OrderEffect, ...]:
    """What the orders of each build are worth that has some and whose default layout is there; its
    random layouts follow them.

    modelled: the model's figure of each row.
    """
    by_build: dict[tuple[str, str], dict[str, tuple[float, ...]]] = {}
    for place, row in enumerate(rows):
        model = (modelled[place],) if modelled else ()
        figures = (row.measured, row.first, row.second, *model)
        by_build.setdefault((row.group, row.build), {})[row.layout] = figures
    found = []
    for (group, build), layouts in by_build.items():
        base = layouts.pop(DEFAULT, None)
        made = {name: figures for name, figures in layouts.items() if is_made(name)}
        if base is None or not made:
            continue
        drawn = [figures for name, figures in layouts.items() if name not in made]
        told = {name.removeprefix(MADE): [figures] for name, figures in made.items()}
        told |= {RANDOM: drawn} if drawn else {}
        found += [_effect(group, build, name, base, all_of) for name, all_of in told.items()]
    return tuple(found)


def _effect(
    group: str, build: str, order: str, base: tuple[float, ...], all_of: list[tuple[float, ...]]
) -> OrderEffect:
    """base, all_of: what was measured, two halves of it, and what a model tells."""
    ratios = [
        math.exp(fmean(math.log(figures[place] / base[place]) for figures in all_of))
        for place in range(len(base))
    ]
    measured = [figures[0] / base[0] for figures in all_of]
    bounds = (min(measured), max(measured)) if order == RANDOM else None
    noise = 50 * abs(math.log(ratios[1] / ratios[2]))
    return OrderEffect(
        group, build, order, ratios[0], bounds, noise, ratios[3] if len(base) > 3 else None
    )
