# SPDX-License-Identifier: GPL-2.0-or-later
"""Effects over layouts: by which factor a variant changes a metric, and how sure that is.

A layout is the unit of the sample: a value here is the logarithm of one metric of one (variant,
layout), and the interval says what another draw of layouts could give. Effects are ratios of
geometric means (see `kernsmith.stats.means`, which also has the rule for zeros).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isfinite, sqrt

import numpy as np
import scipy

from kernsmith.stats.means import Logs, exp_or_infinity


@dataclass(frozen=True)
class Effect:
    """A ratio treated / baseline with its uncertainty.

    ratio: of the geometric means; below 1 the treated variant needs less.
    ci: interval of the ratio with confidence 1 - alpha, of this effect by itself; None when there
        is one layout only, or too few for an always-valid interval to have bounds.
    p: of the hypothesis that the ratio is 1 (two-sided), not corrected for other tests; None when
        there is one layout only.
    n: layouts of the smaller side (paired: pairs).
    layout_share: share of the variance of the logarithms that lies within the variants, between
        layouts, from 0 to 1; None when there is one layout only.
    df: degrees of freedom of t. error: standard error of the logarithm of the ratio.
    half_added: whether 0.5 was added to all values because of zeros.
    paired: whether layouts of both sides belong together.
    always_valid: whether ci and p hold however often the study was looked at (see
        `kernsmith.stats.sequential`), instead of for a number of layouts that was fixed before.
    """

    ratio: float
    ci: tuple[float, float] | None
    p: float | None
    n: int
    layout_share: float | None
    alpha: float = 0.05
    df: float | None = None
    error: float | None = None
    half_added: bool = False
    paired: bool = True
    always_valid: bool = False

    @property
    def change(self) -> float:
        """The change in per cent of the baseline: -12.3 is 12.3 % less."""
        return 100.0 * (self.ratio - 1.0)


def effect_of(
    old: Logs, new: Logs, *, paired: bool, half_added: bool = False, alpha: float = 0.05
) -> Effect:
    """The effect of a fixed number of layouts.

    old, new: logarithms of baseline and treated, one a layout; paired: element i of one side
        belongs to element i of the other.

    Paired t-test of the log ratios (Student 1908), or Welch's (1947) for independent layouts;
    intervals are transformed back.

    Raises:
        ValueError: unequal lengths of paired sides, no values, alpha not in (0, 1).
    """
    if not 0 < alpha < 1:
        raise ValueError(f"alpha is a probability between 0 and 1, not {alpha}")
    if len(old) == 0 or len(new) == 0:
        raise ValueError("no values: every side of a comparison needs at least one")
    if paired and len(old) != len(new):
        raise ValueError(
            f"paired layouts need as many values on both sides, not {len(old)} and {len(new)}"
        )
    n = min(len(old), len(new))
    shift, error, df = _paired(old, new) if paired else _unpaired(old, new)
    if error is None or df is None:
        ratio = exp_or_infinity(shift)
        return Effect(ratio, None, None, n, None, alpha, half_added=half_added, paired=paired)
    t = abs(shift) / error if error > 0 else (inf if shift else 0.0)
    return Effect(
        ratio=exp_or_infinity(shift),
        ci=t_interval(shift, error, df, alpha),
        p=float(2 * scipy.stats.t.sf(t, df)),
        n=n,
        layout_share=share_or_none(old, new),
        alpha=alpha,
        df=df,
        error=error,
        half_added=half_added,
        paired=paired,
    )


def t_interval(shift: float, error: float, df: float, alpha: float) -> tuple[float, float]:
    """Interval of the ratio exp(shift) with confidence 1 - alpha, by Student's t."""
    half = float(scipy.stats.t.isf(alpha / 2, df)) * error
    return exp_or_infinity(shift - half), exp_or_infinity(shift + half)


def share_or_none(old: Logs, new: Logs) -> float | None:
    """`layout_share` of two sides; None where it cannot be had."""
    found = layout_share((old, new))
    return found if isfinite(found) else None


def layout_share(groups: Sequence[Logs]) -> float:
    """Share of the variance of the logarithms that lies within variants, between layouts.

    groups: one sequence a variant, one logarithm a layout.

    Variance components by analysis of variance (Searle, Casella & McCulloch 1992, 3.6): within =
    MSW, between = max(0, (MSB - MSW) / n0). 0 where nothing varies at all; NaN where no variant
    has two layouts or there is one variant only.
    """
    sizes = np.array([len(group) for group in groups], dtype=float)
    total, count = sizes.sum(), len(groups)
    if count < 2 or total <= count:
        return float("nan")
    grand = float(sum(group.sum() for group in groups) / total)
    within = sum(squares(group) for group in groups) / (total - count)
    means = np.array([group.mean() for group in groups])
    mean_square = float(np.sum(sizes * (means - grand) ** 2) / (count - 1))
    n0 = (total - float(np.sum(sizes**2)) / total) / (count - 1)
    between = max(0.0, (mean_square - within) / n0)
    return 0.0 if within + between == 0 else within / (within + between)


def squares(values: Logs) -> float:
    """Sum of squared deviations; exactly 0 for equal values, whatever the rounding of the mean.

    Spread below the rounding error of the logarithms themselves is no spread: ratios that are
    equal in exact arithmetic differ in their last digits.
    """
    largest = max(1.0, float(np.max(np.abs(values))))
    if float(np.ptp(values)) <= 16 * np.finfo(float).eps * largest:
        return 0.0
    return float(np.sum((values - values.mean()) ** 2))


Shift = tuple[float, float | None, float | None]
"""Mean log ratio, its standard error, degrees of freedom; None for one layout."""


def _paired(old: Logs, new: Logs) -> Shift:
    differences = new - old
    n, shift = len(differences), float(differences.mean())
    if n < 2:
        return shift, None, None
    return shift, sqrt(squares(differences) / (n - 1) / n), float(n - 1)


def _unpaired(old: Logs, new: Logs) -> Shift:
    shift = float(new.mean() - old.mean())
    if min(len(old), len(new)) < 2:
        return shift, None, None
    errors = [squares(side) / (len(side) - 1) / len(side) for side in (old, new)]
    variance = sum(errors)
    spread = sum(e**2 / (len(s) - 1) for e, s in zip(errors, (old, new), strict=True))
    df = variance**2 / spread if spread > 0 else float(len(old) + len(new) - 2)
    return shift, sqrt(variance), df
