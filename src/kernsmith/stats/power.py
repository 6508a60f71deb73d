# SPDX-License-Identifier: GPL-2.0-or-later
"""How many values are needed to see a difference, and which difference so many values can show.

Student's t-test through the noncentral t distribution (Cohen 1988, 2.3 and 12.2); as R's
``power.t.test`` it neglects the chance to be significant in the wrong direction.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, inf, isnan, nan, sqrt

import scipy

MOST = 10_000_000
"""More values than this are called impossible."""


def power_of(
    difference: float, sd: float, n: float, alpha: float = 0.05, *, paired: bool = False
) -> float:
    """Probability to find ``difference`` significant with n values a group (paired: n pairs).

    sd: of one value, the same in both groups (paired: of the differences).
    """
    if sd <= 0:
        return 1.0 if difference else alpha
    df = n - 1 if paired else 2 * (n - 1)
    shift = abs(difference) / sd * sqrt(n if paired else n / 2)
    found = float(scipy.stats.nct.sf(scipy.stats.t.isf(alpha / 2, df), df, shift))
    return 1.0 if isnan(found) else found


def exact_n(
    difference: float, sd: float, power: float, alpha: float = 0.05, *, paired: bool = False
) -> float:
    """The n, not rounded, at which ``power`` is reached; infinite beyond `MOST` or for no
    difference."""
    if sd <= 0 and difference:
        return 2.0
    if not difference:
        return inf

    def missing(n: float) -> float:
        return power_of(difference, sd, n, alpha, paired=paired) - power

    return _root(missing, 1.0 + 1e-6, MOST)


def needed_n(
    difference: float, sd: float, power: float, alpha: float = 0.05, *, paired: bool = False
) -> int | None:
    """Values a group (paired: pairs) that show ``difference`` with ``power``; None: more than
    `MOST`."""
    exact = exact_n(difference, sd, power, alpha, paired=paired)
    return None if exact == inf else max(2, ceil(exact - 1e-9))


def detectable(sd: float, n: int, power: float, alpha: float = 0.05) -> float:
    """The smallest difference that n values a group show with ``power``; NaN for n < 2."""
    if n < 2 or isnan(sd):
        return nan
    if sd <= 0:
        return 0.0

    def missing(difference: float) -> float:
        return power_of(difference, 1.0, n, alpha) - power

    high = 1.0
    while missing(high) < 0:
        high *= 2
    return sd * float(scipy.optimize.brentq(missing, 0.0, high, xtol=1e-12))


def _root(missing: Callable[[float], float], low: float, most: float) -> float:
    if missing(low) >= 0:
        return low
    high = 4.0
    while missing(high) < 0:
        low, high = high, high * 2
        if high > most:
            return inf
    return float(scipy.optimize.brentq(missing, low, high, xtol=1e-10, rtol=1e-12))


def sd_bounds(n: int, alpha: float = 0.05) -> tuple[float, float]:
    """Interval of a true standard deviation over that of n normal values, by χ² with n - 1 df."""
    low, high = (float(scipy.stats.chi2.isf(tail, n - 1)) for tail in (alpha / 2, 1 - alpha / 2))
    return sqrt((n - 1) / low), sqrt((n - 1) / high)
