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
_LEAST = 2.0
_FAR = 9.0


def power_of(
    difference: float, sd: float, n: float, alpha: float = 0.05, *, paired: bool = False
) -> float:
    """Probability to find ``difference`` significant with n values a group (paired: n pairs).

    sd: of one value, the same in both groups (paired: of the differences).

    1 where all but 1e-17 of the distribution lies above the critical value c, for which scipy
    takes seconds. The statistic is (Z + shift) / S with Z normal and S² = χ²/df. Z is above -9
    but for 2e-19, and χ² below df + 2 √(40 df) + 80, so S below 1 + 9/√df, but for e⁻⁴⁰
    (Laurent & Massart 2000, lemma 1; true of gamma variables, so for every df): beyond
    c (1 + 9/√df) + 9 the rest is less than a double can take from 1.
    """
    if sd <= 0:
        return 1.0 if difference else alpha
    df = n - 1 if paired else 2 * (n - 1)
    shift = abs(difference) / sd * sqrt(n if paired else n / 2)
    critical = float(scipy.stats.t.isf(alpha / 2, df))
    if shift > critical * (1 + _FAR / sqrt(df)) + _FAR:
        return 1.0
    found = float(scipy.stats.nct.sf(critical, df, shift))
    return 1.0 if isnan(found) else found


def exact_n(
    difference: float, sd: float, power: float, alpha: float = 0.05, *, paired: bool = False
) -> float:
    """The n, not rounded, at which ``power`` is reached; infinite beyond `MOST` or for no
    difference.

    At least 2, as a standard deviation is of two values: towards no degree of freedom the power
    rises again, to 1, which is the other root.
    """
    if sd <= 0 and difference:
        return _LEAST
    if not difference:
        return inf

    def missing(n: float) -> float:
        return power_of(difference, sd, n, alpha, paired=paired) - power

    return _root(missing, _LEAST, MOST)


def needed_n(
    difference: float, sd: float, power: float, alpha: float = 0.05, *, paired: bool = False
) -> int | None:
    """Values a group (paired: pairs) that show ``difference`` with ``power``; None: more than
    `MOST`."""
    exact = exact_n(difference, sd, power, alpha, paired=paired)
    return None if exact == inf else ceil(exact - 1e-9)


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
