# SPDX-License-Identifier: GPL-2.0-or-later
"""What the figures take for granted, each with a test and its figure.

`kernsmith.report.analysis.words` says what they mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import erfc, isnan, nan, sqrt
from typing import Literal

import numpy as np
import scipy
from numpy.typing import NDArray

from kernsmith.stats.anova import Test, bartlett, brown_forsythe
from kernsmith.stats.multiple import holm
from kernsmith.stats.samples import Array, Sample, Stratum, Summary

SHAPIRO_LIMIT = 5000
"""Royston's p-values (1995) hold up to this many values; of more an even sample is tested."""

Standing = Literal["holds", "violated", "unknown"]


@dataclass(frozen=True)
class Check:
    """One assumption.

    figure: the statistic, named by ``test``. standing: `unknown` when it cannot be tested.
    """

    name: str
    test: str
    figure: float
    p: float
    standing: Standing


@dataclass(frozen=True)
class Normality(Check):
    """values: how many residuals there are."""

    values: int


@dataclass(frozen=True)
class EqualVariance(Check):
    """p_of_equal_logs: where variances differ but those of the logarithms do not."""

    p_of_equal_logs: float | None = None


@dataclass(frozen=True)
class Independence(Check):
    """alike: neighbours resemble each other; else they alternate."""

    alike: bool = False


@dataclass(frozen=True)
class Drift(Check):
    """drifting: groups that do, with the change of their line from the first run to the last."""

    drifting: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class RunOrder(Check):
    """expected: changes of group in a random order. one_after_another: each group in one go.

    order_known: whether the run order is a column of the data, or only the order of the rows.
    """

    expected: float = nan
    one_after_another: bool = False
    order_known: bool = True


@dataclass(frozen=True)
class Outlier:
    """A value beyond Tukey's fences: 1.5 interquartile ranges outside the quartiles (1977).

    far: beyond 3 interquartile ranges. row: line in the file, 0 where unknown.
    """

    group: str
    row: int
    value: float
    far: bool


def check_assumptions(
    stratum: Stratum, alpha: float, *, order_known: bool = True
) -> tuple[Check, ...]:
    """Normality, equal variance, independence, drift and the order of the runs.

    order_known: whether the run order is a column of the data, or only the order of the rows.
    """
    if not stratum.samples:
        return (_equal_variance_of_summaries(stratum.summaries, alpha), _no_raw_data())
    samples = stratum.samples
    return (
        _normality(samples, alpha),
        _equal_variance(samples, alpha),
        _independence(samples, alpha),
        _drift(samples, alpha),
        _interleaving(samples, order_known),
    )


def find_outliers(samples: Sequence[Sample]) -> tuple[Outlier, ...]:
    """All values beyond Tukey's fences of their group; groups of fewer than four have none."""
    found = []
    for sample in samples:
        if len(sample.values) < 4:
            continue
        q1, q3 = np.percentile(sample.values, [25, 75])
        away = np.maximum(q1 - sample.values, sample.values - q3)
        for index in np.flatnonzero(away > 1.5 * (q3 - q1)):
            far = bool(away[index] > 3 * (q3 - q1))
            value, row = float(sample.values[index]), int(sample.row[index])
            found.append(Outlier(sample.name, row, value, far))
    return tuple(found)


def _residuals(samples: Sequence[Sample]) -> tuple[Array, NDArray[np.int64]]:
    """Deviations from the group means and their groups, in run order."""
    residuals = np.concatenate([_deviations(s.values) for s in samples])
    groups = np.concatenate([np.full(len(s.values), i) for i, s in enumerate(samples)])
    order = np.argsort(np.concatenate([s.position for s in samples]), kind="stable")
    return residuals[order], groups[order]


def _deviations(values: Array) -> Array:
    """From the mean; exactly 0 for equal values, whose mean may be rounded."""
    if values.min() == values.max():
        return np.zeros_like(values)
    return np.asarray(values - values.mean())


def _standing(p: float, alpha: float) -> Standing:
    if isnan(p):
        return "unknown"
    return "violated" if p < alpha else "holds"


def _normality(samples: Sequence[Sample], alpha: float) -> Normality:
    parts = [_deviations(s.values) for s in samples if len(s.values) > 1]
    residuals = np.concatenate(parts) if parts else np.empty(0)
    name, test = "normality", "Shapiro-Wilk W of the residuals"
    if len(residuals) < 3 or np.ptp(residuals) == 0:
        return Normality(name, test, nan, nan, "unknown", len(residuals))
    kept = np.linspace(0, len(residuals) - 1, min(len(residuals), SHAPIRO_LIMIT)).astype(int)
    # W does not depend on the scale, but scipy takes small residuals for none.
    found = scipy.stats.shapiro(residuals[kept] / np.abs(residuals).max())
    p = float(found.pvalue)
    note = f" (of {len(kept)} of {len(residuals)})" if len(kept) < len(residuals) else ""
    standing = _standing(p, alpha)
    return Normality(name, test + note, float(found.statistic), p, standing, len(residuals))


def _equal_variance(samples: Sequence[Sample], alpha: float) -> EqualVariance:
    found = brown_forsythe(samples)
    p_of_equal_logs = None
    if found.p < alpha and all(np.all(sample.values > 0) for sample in samples):
        logs = brown_forsythe(samples, logs=True)
        p_of_equal_logs = logs.p if logs.p >= alpha else None
    return _variance_check("Brown-Forsythe F", found, alpha, p_of_equal_logs)


def _equal_variance_of_summaries(summaries: Sequence[Summary], alpha: float) -> EqualVariance:
    return _variance_check("Bartlett K²", bartlett(summaries), alpha)


def _variance_check(
    test: str, found: Test, alpha: float, p_of_equal_logs: float | None = None
) -> EqualVariance:
    standing = _standing(found.p, alpha)
    return EqualVariance(
        "equal variance", test, found.statistic, found.p, standing, p_of_equal_logs
    )


def _no_raw_data() -> Check:
    return Check("raw data", "none", nan, nan, "unknown")


def _independence(samples: Sequence[Sample], alpha: float) -> Independence:
    """Lag-1 autocorrelation of the deviations in run order, within groups.

    p is that of von Neumann's ratio V = Σ(e(i+1) - e(i))² / Σe², which for n independent normal
    values has mean 2 and variance 4 (n - 2) / (n² - 1) (1941, Annals of Mathematical Statistics
    12); over groups weighted by their Σe².
    """
    name, test = "independence", "lag-1 autocorrelation (p: von Neumann's ratio)"
    lagged, steps, squares, variance = 0.0, 0.0, 0.0, 0.0
    for sample in samples:
        n = len(sample.values)
        e = _deviations(sample.values[np.argsort(sample.position, kind="stable")])
        if n < 4 or not e.any():
            continue
        lagged += float((e[1:] * e[:-1]).sum())
        steps += float(((e[1:] - e[:-1]) ** 2).sum())
        squares += float((e**2).sum())
        variance += float((e**2).sum()) ** 2 * 4 * (n - 2) / (n**2 - 1)
    if squares == 0:
        return Independence(name, test, nan, nan, "unknown")
    r = lagged / squares
    z = (2 - steps / squares) / (sqrt(variance) / squares)
    p = erfc(abs(z) / sqrt(2))
    return Independence(name, test, r, p, _standing(p, alpha), alike=z > 0)


def _drift(samples: Sequence[Sample], alpha: float) -> Drift:
    """A straight line through each group over its run order; Holm over the groups."""
    name, test = "drift", "smallest p of the groups' slopes over run order (Holm)"
    names, p_values, totals = [], [], []
    for sample in samples:
        n = len(sample.values)
        if n < 5 or np.ptp(sample.values) == 0:
            continue
        when = np.empty(n)
        when[np.argsort(sample.position, kind="stable")] = np.arange(n)
        line = scipy.stats.linregress(when, sample.values)
        names.append(sample.name)
        p_values.append(float(line.pvalue))
        totals.append(float(line.slope) * (n - 1))
    if not names:
        return Drift(name, test, nan, nan, "unknown")
    adjusted = holm(p_values)
    worst = int(np.argmin(adjusted))
    p = adjusted[worst]
    drifting = tuple(
        (each, total)
        for each, total, found in zip(names, totals, adjusted, strict=True)
        if found < alpha
    )
    return Drift(name, test, p, p, _standing(p, alpha), drifting)


def _interleaving(samples: Sequence[Sample], order_known: bool) -> RunOrder:
    """Changes of group along the run order against what a random order has.

    A random order of n runs changes n - Σ nᵢ²/n times on average (Wald & Wolfowitz 1940).
    """
    name, test = "run order", "changes of group along the run order"
    _, groups = _residuals(samples)
    sizes = np.bincount(groups)
    if len(samples) < 2 or sizes.max() < 2:
        return RunOrder(name, test, nan, nan, "unknown")
    changes = int((groups[1:] != groups[:-1]).sum())
    total = len(groups)
    expected = total - float((sizes.astype(float) ** 2).sum()) / total
    one_after_another = changes == len(samples) - 1
    violated = one_after_another or changes < 0.6 * expected
    return RunOrder(
        name,
        test,
        float(changes),
        nan,
        "violated" if violated else "holds",
        expected,
        one_after_another,
        order_known,
    )
