# SPDX-License-Identifier: GPL-2.0-or-later
"""Do the groups differ at all? One-way analysis of variance and its relatives.

All but Kruskal-Wallis need n, mean and standard deviation only, so they work on published
tables too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isnan, nan

import numpy as np
import scipy

from kernsmith.stats.samples import Sample, Summary


@dataclass(frozen=True)
class OneWay:
    """Fisher's one-way analysis of variance.

    f, p: infinite and 0 where groups differ without any spread in them, NaN where nothing varies.
    omega_squared: share of the variance that the groups explain, of the population (Hays 1963).
    """

    df_between: int
    df_within: int
    sum_between: float
    sum_within: float
    f: float
    p: float
    omega_squared: float

    @property
    def mean_square_within(self) -> float:
        """The pooled variance; NaN without degrees of freedom."""
        return self.sum_within / self.df_within if self.df_within else nan


@dataclass(frozen=True)
class Test:
    """A test's statistic with its degrees of freedom and p-value; NaN where it cannot be had."""

    statistic: float
    df: tuple[float, ...]
    p: float


NO_TEST = Test(nan, (), nan)


def one_way(summaries: Sequence[Summary]) -> OneWay | None:
    """Analysis of variance from n, mean and sd; None with one group or without replicates."""
    total = sum(group.n for group in summaries)
    count = len(summaries)
    known = all(group.n == 1 or not isnan(group.sd) for group in summaries)
    if count < 2 or total <= count or not known:
        return None
    grand = sum(group.n * group.mean for group in summaries) / total
    between = sum(group.n * (group.mean - grand) ** 2 for group in summaries)
    within = sum((group.n - 1) * group.variance for group in summaries if group.n > 1)
    if len({group.mean for group in summaries}) == 1:
        between = 0.0
    df_between, df_within = count - 1, total - count
    f, p = f_test(between, df_between, within, df_within)
    error = within / df_within
    whole = between + within
    omega = (between - df_between * error) / (whole + error) if whole > 0 else nan
    return OneWay(df_between, df_within, between, within, f, p, omega)


def f_test(effect: float, df_effect: float, error: float, df_error: float) -> tuple[float, float]:
    """F and p of two sums of squares; (inf, 0) without error, (NaN, NaN) without anything."""
    if df_effect <= 0 or df_error <= 0 or (effect <= 0 and error <= 0):
        return (nan, nan)
    if error <= 0:
        return (inf, 0.0)
    f = max(effect, 0.0) / df_effect / (error / df_error)
    return (f, float(scipy.stats.f.sf(f, df_effect, df_error)))


def welch(summaries: Sequence[Summary]) -> Test:
    """Welch's analysis of variance (1951), which does not need equal variances."""
    if len(summaries) < 2 or any(not group.n > 1 or not group.sd > 0 for group in summaries):
        return NO_TEST
    n = np.array([group.n for group in summaries], dtype=float)
    means = np.array([group.mean for group in summaries])
    weights = n / np.array([group.variance for group in summaries])
    count, total = len(summaries), float(weights.sum())
    centre = float((weights * means).sum()) / total
    between = float((weights * (means - centre) ** 2).sum()) / (count - 1)
    spread = float(((1 - weights / total) ** 2 / (n - 1)).sum())
    f = between / (1 + 2 * (count - 2) / (count**2 - 1) * spread)
    df = (count**2 - 1) / (3 * spread)
    return Test(f, (float(count - 1), df), float(scipy.stats.f.sf(f, count - 1, df)))


def kruskal_wallis(samples: Sequence[Sample]) -> Test:
    """Kruskal and Wallis's rank test (1952), corrected for ties; chi-squared approximation."""
    values = [sample.values for sample in samples]
    if len(values) < 2 or sum(map(len, values)) <= len(values):
        return NO_TEST
    joined = np.concatenate(values)
    if joined.min() == joined.max():
        return NO_TEST
    found = scipy.stats.kruskal(*values)
    return Test(float(found.statistic), (float(len(values) - 1),), float(found.pvalue))


def brown_forsythe(samples: Sequence[Sample], *, logs: bool = False) -> Test:
    """Brown and Forsythe's test of equal variances (1974): deviations from the medians.

    Groups of one say nothing about variance and are left out. ``logs`` tests the logarithms.
    """
    values = [np.log(s.values) if logs else s.values for s in samples if len(s.values) > 1]
    if len(values) < 2:
        return NO_TEST
    deviations = [np.abs(group - np.median(group)) for group in values]
    within = sum(float(((d - d.mean()) ** 2).sum()) for d in deviations)
    centre = float(np.concatenate(deviations).mean())
    between = sum(len(d) * (float(d.mean()) - centre) ** 2 for d in deviations)
    total, count = sum(map(len, values)), len(values)
    f, p = f_test(between, count - 1, within, total - count)
    return Test(f, (float(count - 1), float(total - count)), p)


def bartlett(summaries: Sequence[Summary]) -> Test:
    """Bartlett's test of equal variances (1937), for tables without raw data.

    It takes the values for normal, which a summary cannot show.
    """
    groups = [group for group in summaries if group.n > 1 and group.sd > 0]
    if len(groups) < 2:
        return NO_TEST
    df = np.array([group.n - 1 for group in groups], dtype=float)
    variances = np.array([group.variance for group in groups])
    pooled = float((df * variances).sum() / df.sum())
    raw = float(df.sum() * np.log(pooled) - (df * np.log(variances)).sum())
    scale = 1 + (float((1 / df).sum()) - 1 / float(df.sum())) / (3 * (len(groups) - 1))
    statistic = raw / scale
    return Test(
        statistic, (float(len(groups) - 1),), float(scipy.stats.chi2.sf(statistic, len(groups) - 1))
    )
