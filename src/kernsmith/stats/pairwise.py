# SPDX-License-Identifier: GPL-2.0-or-later
"""Which groups differ, and by how much: simultaneous intervals for every pair.

Tukey-Kramer (Tukey 1953, Kramer 1956) where variances are equal, Games-Howell (1976) where they
are not. With two groups they are Student's and Welch's t-test.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import inf, isnan, log, nan, sqrt
from typing import Literal

import numpy as np

from kernsmith.stats.means import exp_or_infinity
from kernsmith.stats.samples import Summary
from kernsmith.stats.studentized_range import critical_values, standard_error, tail

Method = Literal["Tukey-Kramer", "Games-Howell"]
Pair = tuple[Summary, Summary]


@dataclass(frozen=True)
class Comparison:
    """Group b against group a (the baseline of the two), with simultaneous confidence.

    difference: mean of b - mean of a; low, high: its interval.
    percent: the same in per cent of a's mean, taken as it is (so does ministat).
    q: the studentized range statistic; p: adjusted for all pairs, exact.
    ratio: of the geometric means b / a, its interval by Games-Howell on logarithms; NaN where a
        value is not positive, or where only summaries are known.
    p_holm: p corrected over the strata (benchmarks) in which the same pair is compared.
    """

    a: str
    b: str
    difference: float
    low: float
    high: float
    q: float
    df: float
    p: float
    method: Method
    percent: float
    percent_low: float
    percent_high: float
    ratio: float = nan
    ratio_low: float = nan
    ratio_high: float = nan
    p_holm: float = nan


def compare_all(
    summaries: Sequence[Summary], method: Method, alpha: float, baseline: str | None = None
) -> tuple[Comparison, ...]:
    """Every pair of groups; the baseline, else the earlier group, is what is compared with.

    A pair whose standard error cannot be had (a group of one under Games-Howell) has NaN for
    interval, q and p.
    """
    pairs = [_oriented(a, b, baseline) for a, b in combinations(summaries, 2)]
    errors = [_error(a, b, summaries, method) for a, b in pairs]
    q = [_q(a, b, error) for (a, b), (error, _) in zip(pairs, errors, strict=True)]
    k = len(summaries)
    known = [index for index, each in enumerate(q) if not isnan(each)]
    p = np.full(len(pairs), nan)
    if known:
        p[known] = tail([q[i] for i in known], k, [errors[i][1] for i in known])
    critical = _critical(alpha, k, errors)
    found = [
        _comparison(a, b, method, error, float(each), bound)
        for (a, b), error, each, bound in zip(pairs, errors, p, critical, strict=True)
    ]
    return _with_ratios(found, pairs, alpha, k)


def _oriented(a: Summary, b: Summary, baseline: str | None) -> Pair:
    return (b, a) if b.name == baseline else (a, b)


def _error(
    a: Summary, b: Summary, summaries: Sequence[Summary], method: Method
) -> tuple[float, float]:
    """Standard error for q, and its degrees of freedom."""
    if method == "Tukey-Kramer":
        df = sum(group.n - 1 for group in summaries)
        if df == 0 or any(group.n > 1 and isnan(group.sd) for group in summaries):
            return (nan, nan)
        pooled = sum((g.n - 1) * g.variance for g in summaries if g.n > 1) / df
        return (standard_error(pooled, a.n, b.n), float(df))
    return welch_error(a.n, a.sd, b.n, b.sd)


def welch_error(n_a: int, sd_a: float, n_b: int, sd_b: float) -> tuple[float, float]:
    """Games-Howell's standard error for q with Welch-Satterthwaite degrees of freedom."""
    if n_a < 2 or n_b < 2 or isnan(sd_a) or isnan(sd_b):
        return (nan, nan)
    a, b = sd_a**2 / n_a, sd_b**2 / n_b
    below = a**2 / (n_a - 1) + b**2 / (n_b - 1)
    df = (a + b) ** 2 / below if below > 0 else float(n_a + n_b - 2)
    return (sqrt((a + b) / 2), df)


def _q(a: Summary, b: Summary, error: float) -> float:
    if isnan(error):
        return nan
    distance = abs(b.mean - a.mean)
    if error == 0:
        return inf if distance else 0.0
    return distance / error


def _comparison(
    a: Summary, b: Summary, method: Method, error: tuple[float, float], p: float, critical: float
) -> Comparison:
    se, df = error
    difference = b.mean - a.mean
    low, high = difference - critical * se, difference + critical * se
    percent, percent_low, percent_high = (
        100.0 * figure / abs(a.mean) if a.mean else nan for figure in (difference, low, high)
    )
    return Comparison(
        a=a.name, b=b.name,
        difference=difference, low=low, high=high,
        q=_q(a, b, se), df=df, p=p, method=method,
        percent=percent, percent_low=percent_low, percent_high=percent_high,
    )  # fmt: skip


def _with_ratios(
    found: Sequence[Comparison], pairs: Sequence[Pair], alpha: float, k: int
) -> tuple[Comparison, ...]:
    """Adds the ratios of the geometric means b / a with their intervals, simultaneous for k."""
    errors = [welch_error(a.n, a.log_sd, b.n, b.log_sd) for a, b in pairs]
    critical = _critical(alpha, k, errors)
    result = []
    for each, (a, b), (error, _), q in zip(found, pairs, errors, critical, strict=True):
        if a.geometric_mean > 0 and b.geometric_mean > 0:
            shift, half = log(b.geometric_mean) - log(a.geometric_mean), q * error
            each = replace(
                each,
                ratio=exp_or_infinity(shift),
                ratio_low=exp_or_infinity(shift - half),
                ratio_high=exp_or_infinity(shift + half),
            )
        result.append(each)
    return tuple(result)


def _critical(alpha: float, k: int, errors: Sequence[tuple[float, float]]) -> list[float]:
    """Critical values of q by the errors' degrees of freedom, NaN where these are not known."""
    known = [df for _, df in errors if not isnan(df)]
    solved = dict(zip(known, critical_values(alpha, k, known), strict=True)) if known else {}
    return [float(solved[df]) if not isnan(df) else nan for _, df in errors]
