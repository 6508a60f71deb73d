# SPDX-License-Identifier: GPL-2.0-or-later
"""The studentized range distribution with exact upper tails, however small.

The range of k standard normal values divided by an independent estimate s of their standard
deviation with ``df`` degrees of freedom (Student 1927; Harter 1960). Published tables and web
sites stop at p = 0.001, R's ``ptukey`` at about 1e-14, because they subtract from 1. Here the
tail is integrated itself, on logarithms:

    P(W > w) = k ∫ φ(z) {Φ(z)^(k-1) - [Φ(z) - Φ(z - w)]^(k-1)} dz        (normal range)
    P(Q > q) = ∫ f(s) P(W > q s) ds,   df s² ~ χ²(df)

Both integrands are smooth and vanish at both ends, so the trapezoidal rule converges
exponentially (Trefethen & Weideman 2014, SIAM Review 56(3)).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import exp, inf, log, log1p, pi, sqrt

import numpy as np
import scipy
from numpy.typing import NDArray

Array = NDArray[np.float64]
Floats = Sequence[float] | Array
_WIDEST = 76.0
"""P(W > 76) is below the smallest double."""
_NORMAL_DF = 1e7
"""Beyond so many degrees of freedom s is taken for 1; the error is of the order 1 / df."""


def tail(q: Floats, k: int, df: Floats) -> Array:
    """P(Q > q) for each q; relative error below 1e-8.

    Args:
        q: studentized ranges, in units of the standard error.
        k: number of means, at least 2.
        df: degrees of freedom of the standard deviation, above 0; may be infinite. One for all,
            or one for each q.

    Raises:
        ValueError: k or df out of range.
    """
    points, freedom = np.broadcast_arrays(np.asarray(q, dtype=float), np.asarray(df, dtype=float))
    if k < 2 or not np.all(freedom > 0):
        raise ValueError(f"the studentized range needs k >= 2 and df > 0, not {k} and {df}")
    result = np.where(points == inf, 0.0, 1.0)
    inside = np.flatnonzero((points > 0) & (points < inf))
    for chunk in np.array_split(inside, len(inside) // 1000 + 1):
        result[chunk] = _integrals(points[chunk], k, np.minimum(freedom[chunk], _NORMAL_DF))
    return np.asarray(np.minimum(result, 1.0))


def critical_values(alpha: float, k: int, df: Floats) -> Array:
    """The q that is exceeded with probability ``alpha``, for each df; relative error below 1e-7.

    Of many different df only 40 are solved for; between them the value is as smooth in 1 / df as
    an interpolation needs.
    """
    if not 0 < alpha < 1:
        raise ValueError(f"alpha is a probability between 0 and 1, not {alpha}")
    wanted = np.minimum(np.asarray(df, dtype=float), _NORMAL_DF)
    different = np.unique(wanted)
    if len(different) <= 60:
        solved = {float(each): _critical(alpha, k, float(each)) for each in different}
        return np.array([solved[float(each)] for each in wanted])
    nodes = np.geomspace(different[0], different[-1], 40)
    values = [_critical(alpha, k, float(node)) for node in nodes]
    return np.asarray(scipy.interpolate.CubicSpline(np.log(nodes), values)(np.log(wanted)))


def critical_value(alpha: float, k: int, df: float) -> float:
    """The q that is exceeded with probability ``alpha``."""
    return float(critical_values(alpha, k, [df])[0])


@lru_cache(maxsize=4096)
def _critical(alpha: float, k: int, df: float) -> float:
    def excess(log_q: float) -> float:
        found = float(tail([exp(log_q)], k, [df])[0])
        return log(max(found, 1e-300)) - log(alpha)

    # More freedom makes the value smaller: the normal distribution's bounds it from below.
    low, high = (log(_critical(alpha, k, _NORMAL_DF)) if df < _NORMAL_DF else log(1e-6)), log(4.0)
    while excess(high) > 0:
        low, high = max(low, high), high + 1.0
    return exp(float(scipy.optimize.brentq(excess, low - 1e-6, high, xtol=1e-11)))


def _integrals(q: Array, k: int, df: Array) -> Array:
    """The integral over t = log s by the trapezoidal rule, between bounds that hold all of it.

    The integrand's mode lies between the s at which exp(-q² s² / 4) f(s) has its own and 1; it
    falls like a normal density with standard deviation 1 / sqrt(2 df), to the left at least like
    s^df.
    """
    width = 9.5 / np.sqrt(2 * df)
    left = 0.5 * np.log(df / (df + 0.5 * q**2)) - width - 45.0 / df
    right = np.minimum(width, 4.0)
    grid = left[:, None] + (right - left)[:, None] * np.linspace(0.0, 1.0, 320)
    log_constant = log(2.0) + 0.5 * df * np.log(df / 2.0) - scipy.special.gammaln(df / 2.0)
    # df t - df s²/2 in a form that does not cancel for large df
    density = -df[:, None] * (0.5 * np.expm1(2 * grid) - grid) + (log_constant - 0.5 * df)[:, None]
    heights = density + _log_tail_of_range(k, q[:, None] * np.exp(grid))
    step = (right - left) / (grid.shape[1] - 1)
    return np.asarray(np.exp(scipy.special.logsumexp(heights, axis=1)) * step)


def _log_tail_of_range(k: int, w: Array) -> Array:
    return np.where(w < _WIDEST, _spline(k)(np.log1p(np.minimum(w, _WIDEST))), -inf)


@lru_cache(maxsize=64)
def _spline(k: int) -> scipy.interpolate.CubicSpline:
    """log P(W > w) as a function of log(1 + w)."""
    nodes = np.linspace(0.0, log1p(_WIDEST), 1200)
    values = np.array([_log_tail_exactly(k, float(w)) for w in np.expm1(nodes)])
    return scipy.interpolate.CubicSpline(nodes, values)


def _log_tail_exactly(k: int, w: float) -> float:
    if w == 0:
        return 0.0
    z = np.linspace(-9.0, w / 2 + 12.0, 500)
    log_density = -0.5 * z**2 - 0.5 * log(2 * pi)
    below = scipy.special.log_ndtr(z)
    ratio = np.minimum(np.exp(scipy.special.log_ndtr(z - w) - below), 1.0)
    with np.errstate(divide="ignore"):
        missing = np.log(-np.expm1((k - 1) * np.log1p(-ratio)))
    total = float(scipy.special.logsumexp(log_density + (k - 1) * below + missing))
    return min(0.0, total + log(k) + log(z[1] - z[0]))


def standard_error(variance: float, n_a: int, n_b: int) -> float:
    """Tukey-Kramer's standard error of a difference for q: sqrt(s²/2 (1/n_a + 1/n_b))."""
    return sqrt(variance / 2.0 * (1.0 / n_a + 1.0 / n_b))
