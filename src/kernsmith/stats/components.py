# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the variance comes from: layouts, boots within layouts, runs within boots.

The nested random model of a ledger, on logarithms:

    log y = variant + layout(variant) + boot(layout) + run(boot)

Variants are fixed. The variances are estimated by equating mean squares with their expectations
(Searle, Casella & McCulloch 1992, chapter 5, unbalanced nested classification); a negative
estimate is set to 0.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import log1p, sqrt
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from kernsmith.stats.power import needed_n, power_of
from kernsmith.stats.rounding import without_rounding

Array = NDArray[np.float64]
LEVELS = ("layout", "boot", "run")

LEVELS_OF_BOOTS: Mapping[str, str] = MappingProxyType(
    {"layout + boot": "boot", "run": "layout", "layout + boot + run": "boot + layout"}
)
"""What the components are called where the unit is a boot, and its runs are replays of layouts that
were dealt out to it."""


@dataclass(frozen=True)
class Component:
    """One source of variance.

    name: a level, or several joined by `` + `` where the design cannot tell them apart (one run
    a boot: `boot + run`).
    variance: of natural logarithms. share: of the sum of all components, 0 to 1.
    df: degrees of freedom of its estimate. groups: how many of them were seen.
    """

    name: str
    variance: float
    share: float
    df: int
    groups: int


@dataclass(frozen=True)
class Need:
    """What it takes to see a change of ``percent`` with ``power``.

    layouts: a variant, with as many boots and runs as now; None beyond ten million.
    runs: a boot, with as many layouts and boots as now; None when no number of runs is enough.
    """

    percent: float
    power: float
    layouts: int | None
    runs: int | None


def variance_components(
    values: Sequence[float],
    variant: Sequence[Hashable],
    layout: Sequence[Hashable],
    boot: Sequence[Hashable],
) -> tuple[Component, ...]:
    """The components of a table with one line a run; names need to be unique within their parent.

    Empty when no level has degrees of freedom (one run of each variant).

    Raises:
        ValueError: columns of different lengths, values that are not positive.
    """
    y = np.asarray(values, dtype=float)
    if not len(y) == len(variant) == len(layout) == len(boot):
        raise ValueError("values, variant, layout and boot must be equally long")
    if not np.all(y > 0):
        raise ValueError("variance components of logarithms need positive values")
    keys = (
        list(variant),
        list(zip(variant, layout, strict=True)),
        list(zip(variant, layout, boot, strict=True)),
        list(range(len(y))),
    )
    return _nested(np.log(y), [_codes(key) for key in keys])


def _codes(keys: Sequence[Hashable]) -> NDArray[np.int64]:
    seen: dict[Hashable, int] = {}
    return np.array([seen.setdefault(key, len(seen)) for key in keys], dtype=np.int64)


def _nested(y: Array, codes: list[NDArray[np.int64]]) -> tuple[Component, ...]:
    chain, names = _identifiable(codes)
    sizes = [np.bincount(each).astype(float) for each in chain]
    centred = y - y.mean()
    means = [np.bincount(each, centred) / n for each, n in zip(chain, sizes, strict=True)]
    largest = max(1.0, float(np.abs(y).max()))
    variances: list[float] = [0.0] * len(chain)
    for level in range(len(chain) - 1, 0, -1):
        df = len(sizes[level]) - len(sizes[level - 1])
        # Of the runs' own deviations: a difference of two large sums would cancel.
        deviations = means[level][chain[level]] - means[level - 1][chain[level - 1]]
        square = without_rounding(float((deviations**2).sum()), largest, len(y)) / df
        below = sum(
            _coefficient(chain, sizes, level, lower, df) * variances[lower]
            for lower in range(level + 1, len(chain))
        )
        own = _coefficient(chain, sizes, level, level, df)
        variances[level] = max(0.0, (square - below) / own)
    total = sum(variances)
    return tuple(
        Component(
            names[level - 1],
            variances[level],
            variances[level] / total if total else 0.0,
            len(sizes[level]) - len(sizes[level - 1]),
            len(sizes[level]),
        )
        for level in range(1, len(chain))
    )


def _identifiable(
    codes: list[NDArray[np.int64]],
) -> tuple[list[NDArray[np.int64]], list[str]]:
    """Leaves out levels without replication and joins their names.

    A level with one group in each parent cannot be told from its parent.
    """
    chain, names, waiting = [codes[0]], list[str](), list[str]()
    for name, code in zip(LEVELS, codes[1:], strict=True):
        if code.max() == chain[-1].max():
            if names:
                names[-1] += f" + {name}"
            else:
                waiting.append(name)
            continue
        chain.append(code)
        names.append(" + ".join([*waiting, name]))
        waiting = []
    return chain, names


def _coefficient(
    chain: list[NDArray[np.int64]], sizes: list[Array], level: int, lower: int, df: int
) -> float:
    """Coefficient of the variance of ``lower`` in the expected mean square of ``level``."""
    return (_ratio(chain, sizes, level, lower) - _ratio(chain, sizes, level - 1, lower)) / df


def _ratio(chain: list[NDArray[np.int64]], sizes: list[Array], upper: int, lower: int) -> float:
    """Σ over groups g of ``upper`` of Σ over their groups h of ``lower`` of n(h)² / n(g)."""
    parent = np.zeros(len(sizes[lower]), dtype=np.int64)
    parent[chain[lower]] = chain[upper]
    return float((sizes[lower] ** 2 / sizes[upper][parent]).sum())


def needed(
    components: Sequence[Component],
    design: tuple[int, int, int],
    percent: float,
    power: float,
    alpha: float = 0.05,
) -> Need:
    """Layouts, or runs, that show a change of ``percent`` between two variants.

    design: layouts a variant, boots a layout and runs a boot as they are now.

    The layout is the unit: layout means scatter with variance L + B / boots + R / (boots runs).
    Layouts of the two variants are taken as independent; pairing can only help.
    """
    _, boots, runs = design
    difference = abs(log1p(percent / 100.0))
    sd = sqrt(_variance_of_layout(components, boots, runs))
    wanted = needed_n(difference, sd, power, alpha)
    return Need(percent, power, wanted, _runs(components, design, difference, power, alpha))


def _variance_of_layout(components: Sequence[Component], boots: float, runs: float) -> float:
    total = 0.0
    for component in components:
        first = component.name.split(" + ")[0]
        divisor = {"layout": 1.0, "boot": boots, "run": boots * runs}[first]
        total += component.variance / divisor
    return total


def _runs(
    components: Sequence[Component],
    design: tuple[int, int, int],
    difference: float,
    power: float,
    alpha: float,
) -> int | None:
    layouts, boots, _ = design
    if layouts < 2:
        return None

    def enough(runs: float) -> bool:
        sd = sqrt(_variance_of_layout(components, boots, runs))
        return power_of(difference, sd, layouts, alpha) >= power

    if not enough(1e9):
        return None
    low, high = 0, 1
    while not enough(high):
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
