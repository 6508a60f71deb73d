# SPDX-License-Identifier: GPL-2.0-or-later
"""What the figures take for granted, each with a test, its figure and a plain sentence."""

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
    sentence: what it means for the reader.
    """

    name: str
    test: str
    figure: float
    p: float
    standing: Standing
    sentence: str


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


def _normality(samples: Sequence[Sample], alpha: float) -> Check:
    parts = [_deviations(s.values) for s in samples if len(s.values) > 1]
    residuals = np.concatenate(parts) if parts else np.empty(0)
    name, test = "normality", "Shapiro-Wilk W of the residuals"
    if len(residuals) < 3 or np.ptp(residuals) == 0:
        text = "too few values, or no spread in them: normality cannot be tested"
        return Check(name, test, nan, nan, "unknown", text)
    kept = np.linspace(0, len(residuals) - 1, min(len(residuals), SHAPIRO_LIMIT)).astype(int)
    # W does not depend on the scale, but scipy takes small residuals for none.
    found = scipy.stats.shapiro(residuals[kept] / np.abs(residuals).max())
    p = float(found.pvalue)
    note = f" (of {len(kept)} of {len(residuals)})" if len(kept) < len(residuals) else ""
    if p < alpha:
        text = (
            "the residuals are not normal; means of many values bear that, small groups do not: "
            "look at Kruskal-Wallis and the box plot"
        )
    else:
        text = "nothing speaks against normal residuals"
        if len(residuals) < 20:
            text += f", but {len(residuals)} values could hardly show it"
    return Check(name, test + note, float(found.statistic), p, _standing(p, alpha), text)


def _equal_variance(samples: Sequence[Sample], alpha: float) -> Check:
    found = brown_forsythe(samples)
    name, test = "equal variance", "Brown-Forsythe F"
    sentence = _variance_sentence(found, alpha)
    if found.p < alpha and all(np.all(sample.values > 0) for sample in samples):
        logs = brown_forsythe(samples, logs=True)
        if logs.p >= alpha:
            sentence += (
                "; on logarithms they are equal "
                f"(p = {logs.p:.2g}): the spread grows with the mean, so compare the ratios"
            )
    return Check(name, test, found.statistic, found.p, _standing(found.p, alpha), sentence)


def _variance_sentence(found: Test, alpha: float) -> str:
    if isnan(found.p):
        return "too few values, or no spread in them: equal variance cannot be tested"
    if found.p < alpha:
        return "the groups scatter differently: Welch's test and Games-Howell are used"
    return "nothing speaks against equal variances: Fisher's test and Tukey-Kramer are used"


def _equal_variance_of_summaries(summaries: Sequence[Summary], alpha: float) -> Check:
    found = bartlett(summaries)
    sentence = _variance_sentence(found, alpha)
    return Check(
        "equal variance",
        "Bartlett K²",
        found.statistic,
        found.p,
        _standing(found.p, alpha),
        sentence,
    )


def _no_raw_data() -> Check:
    text = (
        "without raw data neither normality, nor independence, nor outliers, nor the order of "
        "the runs can be checked: the figures below take them on trust"
    )
    return Check("raw data", "none", nan, nan, "unknown", text)


def _independence(samples: Sequence[Sample], alpha: float) -> Check:
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
        text = "too few neighbours in run order: independence cannot be tested"
        return Check(name, test, nan, nan, "unknown", text)
    r = lagged / squares
    z = (2 - steps / squares) / (sqrt(variance) / squares)
    p = erfc(abs(z) / sqrt(2))
    text = "neighbouring runs do not resemble each other more than others"
    if p < alpha:
        text = (
            "neighbouring runs resemble each other: they are worth fewer runs than their number, "
            "and the intervals below are too narrow"
            if z > 0
            else "neighbouring runs alternate more than chance does: the intervals are too wide"
        )
    return Check(name, test, r, p, _standing(p, alpha), text)


def _drift(samples: Sequence[Sample], alpha: float) -> Check:
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
        return Check(name, test, nan, nan, "unknown", "too few runs a group to see a drift")
    adjusted = holm(p_values)
    worst = int(np.argmin(adjusted))
    p = adjusted[worst]
    drifting = [
        f"{each} moves by {total:+.3g} from its first run to its last"
        for each, total, found in zip(names, totals, adjusted, strict=True)
        if found < alpha
    ]
    text = "no group drifts over its runs"
    if drifting:
        text = "; ".join(drifting[:5]) + ": the machine changed while it was measured"
    return Check(name, test, p, p, _standing(p, alpha), text)


def _interleaving(samples: Sequence[Sample], order_known: bool) -> Check:
    """Changes of group along the run order against what a random order has.

    A random order of n runs changes n - Σ nᵢ²/n times on average (Wald & Wolfowitz 1940).
    """
    name, test = "run order", "changes of group along the run order"
    _, groups = _residuals(samples)
    sizes = np.bincount(groups)
    if len(samples) < 2 or sizes.max() < 2:
        return Check(name, test, nan, nan, "unknown", "there is no order to judge")
    changes = int((groups[1:] != groups[:-1]).sum())
    total = len(groups)
    expected = total - float((sizes.astype(float) ** 2).sum()) / total
    known = "" if order_known else " (the rows' order is taken for the runs' order)"
    if changes == len(samples) - 1:
        text = (
            "each group was measured in one go, one group after another: group and time are "
            "confounded, and whatever changed between the blocks (temperature, boot, layout, "
            f"daemons) counts as an effect of the group{known}; interleave the runs"
        )
        return Check(name, test, float(changes), nan, "violated", text)
    if changes < 0.6 * expected:
        text = (
            f"the runs were measured in long blocks, {changes} changes of group where a random "
            f"order has about {expected:.0f}: group and time are partly confounded{known}"
        )
        return Check(name, test, float(changes), nan, "violated", text)
    text = f"the groups are interleaved, {changes} changes (a random order: {expected:.0f}){known}"
    return Check(name, test, float(changes), nan, "holds", text)
