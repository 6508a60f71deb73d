# SPDX-License-Identifier: GPL-2.0-or-later
"""How many runs, boots and layouts to spend, from a pilot's components and the cost of each level.

A unit (a layout with b boots of r runs) scatters with

    V(b, r) = σ²L + σ²B / b + σ²R / (b r)

and n of them cost n (cL + b (cB + r cR)). Without rounding the best are (Kalibera & Jones 2013,
6.2; for two levels Cochran 1977, "Sampling Techniques", 10.6)

    r = √(cB/cR · σ²R/σ²B),   b = √(cL/cB · σ²B/σ²L)

and n follows from the goal. Here whole numbers are looked through instead: with few layouts
Student's t counts, and √ is too coarse. A pilot's components are estimates, and who plans with a V
that is too small by chance misses the goal: V is taken at the upper bound of a one-sided interval
(Browne 1995, Statistics in Medicine 14), by Satterthwaite's (1946) degrees of freedom.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log1p, sqrt

import numpy as np
import scipy
from numpy.typing import NDArray

from kernsmith.stats.components import Component
from kernsmith.stats.power import power_of

Array = NDArray[np.float64]

MOST_LAYOUTS, MOST_BOOTS, MOST_RUNS = 4000, 40, 400
"""A plan never spends more of each, of one variant."""
_CONFIDENCE = 0.8
_CERTAIN = 1e9
"""Degrees of freedom of what is known."""


@dataclass(frozen=True)
class Costs:
    """Seconds that one more of each takes: a relink, a boot with its warm-up, a run."""

    layout: float = 9.0
    boot: float = 20.0
    run: float = 1.0

    def __post_init__(self) -> None:
        if min(self.layout, self.boot) < 0 or self.run <= 0:
            raise ValueError("a run costs more than nothing, a boot and a layout not less")

    def of(self, layouts: int, boots: int, runs: int) -> float:
        """Seconds for one variant; boots a layout, runs a boot."""
        return layouts * (self.layout + boots * (self.boot + runs * self.run))


@dataclass(frozen=True)
class Goal:
    """What a study of two variants is to reach.

    percent: without ``power`` the width of the ratio's interval, upper minus lower bound, in per
        cent of the baseline; with it the change that is to be found significant so often.
    """

    percent: float
    power: float | None = None
    alpha: float = 0.05

    def __post_init__(self) -> None:
        if not self.percent > 0:
            raise ValueError(f"a goal is a percentage above 0, not {self.percent}")
        if self.power is not None and not self.alpha < self.power < 1:
            raise ValueError(f"power is between alpha and 1, not {self.power}")
        if not 0 < self.alpha < 1:
            raise ValueError(f"alpha is a probability between 0 and 1, not {self.alpha}")


@dataclass(frozen=True)
class Spending:
    """Layouts a variant, boots a layout and runs a boot, and the seconds of both variants.

    sd: standard deviation of a unit that was planned with (of logarithms).
    """

    layouts: int
    boots: int
    runs: int
    seconds: float
    sd: float


def spend(
    components: Sequence[Component],
    design: tuple[int, int],
    goal: Goal,
    costs: Costs | None = None,
    *,
    confidence: float = _CONFIDENCE,
) -> Spending | None:
    """The cheapest design of two variants that reaches the goal.

    It has enough layouts for those that are paired by their draws and yet have nothing in common:
    n - 1 degrees of freedom. What they have in common, or layouts of their own, can only help.

    components: of the pilot (`stats.components`); levels that it could not tell apart count as the
        highest of them. design: boots a layout and runs a boot of the pilot.
    confidence: that V is not above what is planned with; 0.5 is about the estimate itself.

    None when no design within `MOST_LAYOUTS`, `MOST_BOOTS` and `MOST_RUNS` does.

    Raises:
        ValueError: no components, or a confidence outside (0, 1).
    """
    if not components or not 0 < confidence < 1:
        raise ValueError("a plan needs a pilot's components, and a confidence between 0 and 1")
    costs = costs or Costs()
    boots, runs = np.meshgrid(np.arange(1, MOST_BOOTS + 1), _run_numbers(), indexing="ij")
    variance = _upper_variance(components, design, boots, runs, confidence)
    layouts = _needed(variance, goal)
    each = costs.layout + boots * (costs.boot + runs * costs.run)
    total = np.where(layouts > 0, layouts * each, np.inf)
    best = int(np.argmin(total))
    if not np.isfinite(total.flat[best]):
        return None
    counts = int(layouts.flat[best]), int(boots.flat[best]), int(runs.flat[best])
    sd = sqrt(float(variance.flat[best]))
    if goal.power is not None:
        counts = (_enough(counts[0], sd, goal), *counts[1:])
    return Spending(*counts, 2 * costs.of(*counts), sd)


def _run_numbers() -> NDArray[np.int64]:
    """Numbers of runs that are looked at: all small ones, and ever fewer of the large."""
    return np.unique(np.geomspace(1, MOST_RUNS, 60).round().astype(np.int64))


def _upper_variance(
    components: Sequence[Component],
    design: tuple[int, int],
    boots: NDArray[np.int64],
    runs: NDArray[np.int64],
    confidence: float,
) -> Array:
    """Upper bound of V(b, r).

    V is a sum of mean squares with coefficients, and its estimate has about
    V² / Σ (c MS)² / df degrees of freedom.
    """
    by_level = {part.name.split(" + ")[0]: part for part in components}
    names = ("layout", "boot", "run")
    sigma = [by_level[name].variance if name in by_level else 0.0 for name in names]
    df = [by_level[name].df if name in by_level else 0 for name in names]
    in_boots, in_runs = design
    squares = [
        sigma[2] + in_runs * sigma[1] + in_boots * in_runs * sigma[0],
        sigma[2] + in_runs * sigma[1],
        sigma[2],
    ]
    known = [name in by_level for name in names]
    weights = _weights(known, (in_boots, in_runs), boots, runs)
    variance = sigma[0] + sigma[1] / boots + sigma[2] / (boots * runs)
    spread = sum(
        (weight * square) ** 2 / each
        for weight, square, each in zip(weights, squares, df, strict=True)
        if each > 0
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        freedom = np.where(spread > 0, variance**2 / spread, np.inf)
    freedom = np.minimum(freedom, _CERTAIN)
    # Of next to no freedom the bound is infinite: such a design is none to plan with.
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        return np.asarray(variance * freedom / scipy.stats.chi2.ppf(1 - confidence, freedom))


def _weights(
    known: Sequence[bool],
    design: tuple[int, int],
    boots: NDArray[np.int64],
    runs: NDArray[np.int64],
) -> tuple[Array, Array, Array]:
    """Coefficients of the mean squares of layouts, boots and runs in V(b, r)."""
    in_boots, in_runs = design
    nothing: Array = np.zeros(boots.shape)
    of_layout = nothing + (1.0 / (in_boots * in_runs) if known[0] else 0.0)
    of_boot = nothing + (1.0 / boots - (1.0 / in_boots if known[0] else 0.0)) / in_runs
    of_run = nothing + 1.0 / (boots * runs)
    if known[1]:
        of_run = of_run - 1.0 / (boots * in_runs)
    elif known[0]:
        of_run = of_run - 1.0 / (in_boots * in_runs)
    return of_layout, of_boot if known[1] else nothing, of_run if known[2] else nothing


def _needed(variance: Array, goal: Goal) -> NDArray[np.int64]:
    """Layouts a variant that reach the goal; 0 where more than `MOST_LAYOUTS` would be needed."""
    if goal.power is None:
        # The interval exp(m ± h) is as wide as asked where 2 sinh(h) is.
        half = float(np.arcsinh(goal.percent / 200.0))
    else:
        half = abs(log1p(goal.percent / 100.0))
    scaled = _scaled_quantiles(goal.alpha, goal.power)
    with np.errstate(divide="ignore"):
        allowed = np.where(variance > 0, half**2 / variance, np.inf)
    # `scaled` falls with the number of layouts: the first that is not above what is allowed.
    place = np.searchsorted(-scaled, -allowed, side="left")
    return np.where(place < len(scaled), place + 2, 0)


@lru_cache(maxsize=16)
def _scaled_quantiles(alpha: float, power: float | None) -> Array:
    """2 t² / n for n = 2 …: the squared half width, or difference, in units of V.

    t: Student's quantile, with the one of the power on top (the usual approximation of the
    noncentral t; `_enough` makes it exact).
    """
    n = np.arange(2, MOST_LAYOUTS + 1)
    df = n - 1
    t = scipy.stats.t.isf(alpha / 2, df)
    if power is not None:
        t = t + scipy.stats.t.ppf(power, df)
    return np.asarray(2 * t**2 / n)


def _enough(layouts: int, sd: float, goal: Goal) -> int:
    """The number of layouts from which on the power is reached, by the noncentral t."""
    assert goal.power is not None
    difference = abs(log1p(goal.percent / 100.0))
    while power_of(difference, sqrt(2) * sd, layouts, goal.alpha, paired=True) < goal.power:
        layouts += 1
    return layouts
