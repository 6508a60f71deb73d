# SPDX-License-Identifier: GPL-2.0-or-later
"""Many tests, one error rate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan, nan


@dataclass(frozen=True)
class Corrected:
    """A p-value among others.

    p: adjusted for all of them; below alpha: significant.
    level: error rate of the interval that belongs to that decision: with confidence 1 - level it
        leaves the hypothesis out exactly where the test is significant.
    """

    p: float
    level: float


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down correction (1979): adjusted p-values in the order given.

    The family-wise error rate holds whatever the dependence between the tests. NaN stays NaN and
    does not count as a test.
    """
    order = sorted((p, index) for index, p in enumerate(p_values) if not isnan(p))
    adjusted = [nan] * len(p_values)
    highest = 0.0
    for rank, (p, index) in enumerate(order):
        highest = max(highest, min(1.0, (len(order) - rank) * p))
        adjusted[index] = highest
    return adjusted


def benjamini_yekutieli(p_values: Sequence[float]) -> list[float]:
    """Adjusted p-values that keep the false discovery rate whatever the dependence.

    Benjamini & Yekutieli 2001, Annals of Statistics 29(4), theorem 1.3: m c(m) p / rank with c(m)
    = 1 + 1/2 + … + 1/m, made monotone from the largest down. In the order given; NaN stays NaN and
    does not count as a test.
    """
    order = sorted((p, index) for index, p in enumerate(p_values) if not isnan(p))
    adjusted = [nan] * len(p_values)
    m, lowest = len(order), 1.0
    for rank, (p, index) in reversed(list(enumerate(order, start=1))):
        lowest = min(lowest, m * _harmonic(m) * p / rank)
        adjusted[index] = lowest
    return adjusted


def holm_with_levels(p_values: Sequence[float], alpha: float) -> list[Corrected]:
    """Holm's correction, and the level of each test's interval.

    A rejected hypothesis has the level of the step that rejected it, all others that of the step
    at which it stopped.
    """
    adjusted = holm(p_values)
    places = _ranks(p_values)
    rejected = sum(p < alpha for p in adjusted)
    steps = [min(place, rejected) for place in places]
    tests = sum(not isnan(p) for p in p_values)
    return [
        Corrected(p, alpha / max(1, tests - step)) for p, step in zip(adjusted, steps, strict=True)
    ]


def benjamini_yekutieli_with_levels(p_values: Sequence[float], alpha: float) -> list[Corrected]:
    """Benjamini & Yekutieli's correction, and the level of each test's interval.

    Intervals of R selected tests keep their false coverage rate at level R alpha / (m c(m)): the
    same authors, 2005, JASA 100(469), "False discovery rate-adjusted multiple confidence
    intervals for selected parameters". What is not selected is judged at the next step's level.
    """
    adjusted = benjamini_yekutieli(p_values)
    m = sum(not isnan(p) for p in p_values)
    unit = alpha / (m * _harmonic(m)) if m else alpha
    selected = sum(p < alpha for p in adjusted)
    levels = [unit * (selected if p < alpha else min(m, selected + 1)) for p in adjusted]
    return [Corrected(p, level) for p, level in zip(adjusted, levels, strict=True)]


def _ranks(p_values: Sequence[float]) -> list[int]:
    """Place of each p-value from the smallest, from 0; equal ones in the order given."""
    order = sorted(range(len(p_values)), key=lambda i: (isnan(p_values[i]), p_values[i], i))
    places = [0] * len(p_values)
    for place, index in enumerate(order):
        places[index] = place
    return places


def _harmonic(m: int) -> float:
    return sum(1 / k for k in range(1, m + 1))
