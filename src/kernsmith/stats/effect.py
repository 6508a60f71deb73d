# SPDX-License-Identifier: GPL-2.0-or-later
"""Effects over layouts: by which factor a variant changes a metric, and how sure that is.

A layout is the unit of the sample: a value here is one metric of one (variant, layout), and the
interval says what another draw of layouts could give. Effects are ratios of geometric means, so
everything is computed on natural logarithms (Fleming & Wallace 1986, "How not to lie with
statistics: the correct way to summarize benchmark results", CACM 29(3)).

Zero counts (a layout without a single iTLB miss) have no logarithm. As soon as one value of a
comparison is zero, 0.5 is added to *all* of its values (Haldane 1956; Anscombe 1956), and the
effect says so in ``half_added``; comparisons without zeros use the exact ratios.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite, sqrt

import numpy as np
import scipy
from numpy.typing import NDArray

from kernsmith.stats.samples import exp_or_infinity

Logs = NDArray[np.float64]
"""Natural logarithms of a metric, one a layout."""


@dataclass(frozen=True)
class Effect:
    """A ratio treated / baseline with its uncertainty.

    ratio: of the geometric means; below 1 the treated variant needs less.
    ci: interval of the ratio with confidence 1 - alpha; None when there is one layout only.
    p: of the hypothesis that the ratio is 1 (two-sided); None when there is one layout only.
    n: layouts of the smaller side (paired: pairs).
    layout_share: share of the variance of the logarithms that lies within the variants, between
        layouts, from 0 to 1; None when there is one layout only.
    half_added: whether 0.5 was added to all values because of zeros.
    paired: whether layouts of both sides belong together.
    """

    ratio: float
    ci: tuple[float, float] | None
    p: float | None
    n: int
    layout_share: float | None
    alpha: float = 0.05
    df: float | None = None
    half_added: bool = False
    paired: bool = True

    @property
    def significant(self) -> bool:
        """Whether the ratio differs from 1 at ``alpha``. False when there is no p-value."""
        return self.p is not None and self.p < self.alpha

    @property
    def change(self) -> float:
        """The change in per cent of the baseline: -12.3 is 12.3 % less."""
        return 100.0 * (self.ratio - 1.0)


def paired_effect(
    baseline: Sequence[float], treated: Sequence[float], *, alpha: float = 0.05
) -> Effect:
    """Effect from layouts with the same seeds on both sides: element i belongs to element i.

    Paired t-test of the log ratios (Student 1908), interval transformed back.

    Raises:
        ValueError: unequal lengths, no values, negative or non-finite values, alpha not in (0, 1).
    """
    if len(baseline) != len(treated):
        raise ValueError(
            f"paired layouts need as many values on both sides, not {len(baseline)} and "
            f"{len(treated)}"
        )
    old, new, half_added = _logs_of(baseline, treated)
    return _paired(old, new, half_added, alpha)


def unpaired_effect(
    baseline: Sequence[float], treated: Sequence[float], *, alpha: float = 0.05
) -> Effect:
    """Effect from independent layouts: Welch's t-test (1947) on logarithms.

    Raises:
        ValueError: no values, negative or non-finite values, alpha not in (0, 1).
    """
    old, new, half_added = _logs_of(baseline, treated)
    return _unpaired(old, new, half_added, alpha)


def overall_effect(
    per_workload: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    paired: bool,
    *,
    alpha: float = 0.05,
) -> Effect:
    """One effect over all workloads: the geometric mean over workloads, then over layouts.

    per_workload: values of baseline and treated by workload; element i of every workload is the
        same layout, so all workloads have as many.

    Workloads count equally. They are a fixed set: the interval says what other layouts could
    give, not what other workloads could.

    Raises:
        ValueError: no workloads, unequal numbers of layouts, or as in `paired_effect`.
    """
    if not per_workload:
        raise ValueError("an overall effect needs at least one workload")
    shapes = {(len(old), len(new)) for old, new in per_workload.values()}
    if len(shapes) > 1:
        raise ValueError(f"all workloads need the same layouts, found {sorted(shapes)}")
    parts = [_logs_of(old, new) for old, new in per_workload.values()]
    old = np.mean([part[0] for part in parts], axis=0)
    new = np.mean([part[1] for part in parts], axis=0)
    half_added = any(part[2] for part in parts)
    if paired:
        if len(old) != len(new):
            raise ValueError(f"paired layouts: {len(old)} on one side, {len(new)} on the other")
        return _paired(old, new, half_added, alpha)
    return _unpaired(old, new, half_added, alpha)


def layout_share(groups: Sequence[Sequence[float]]) -> float:
    """Share of the variance of the logarithms that lies within variants, between layouts.

    groups: one sequence a variant, one value a layout.

    Variance components by analysis of variance (Searle, Casella & McCulloch 1992, 3.6): within =
    MSW, between = max(0, (MSB - MSW) / n0). 0 where nothing varies at all; NaN where no variant
    has two layouts or there is one variant only.

    Raises:
        ValueError: an empty group, negative or non-finite values.
    """
    logs, _ = _add_half_where_zero(groups)
    return _share_of(logs)


def _share_of(groups: Sequence[Logs]) -> float:
    sizes = np.array([len(group) for group in groups], dtype=float)
    total, count = sizes.sum(), len(groups)
    if count < 2 or total <= count:
        return float("nan")
    grand = float(sum(group.sum() for group in groups) / total)
    within = sum(_squares(group) for group in groups) / (total - count)
    means = np.array([group.mean() for group in groups])
    mean_square = float(np.sum(sizes * (means - grand) ** 2) / (count - 1))
    n0 = (total - float(np.sum(sizes**2)) / total) / (count - 1)
    between = max(0.0, (mean_square - within) / n0)
    return 0.0 if within + between == 0 else within / (within + between)


def _paired(old: Logs, new: Logs, half_added: bool, alpha: float) -> Effect:
    differences = new - old
    n = len(differences)
    variance = _squares(differences) / (n - 1) / n if n > 1 else None
    df = float(n - 1) if n > 1 else None
    return _effect(float(differences.mean()), variance, df, n, (old, new), half_added, alpha, True)


def _unpaired(old: Logs, new: Logs, half_added: bool, alpha: float) -> Effect:
    shift = float(new.mean() - old.mean())
    n = min(len(old), len(new))
    if n < 2:
        return _effect(shift, None, None, n, (old, new), half_added, alpha, False)
    errors = [_squares(side) / (len(side) - 1) / len(side) for side in (old, new)]
    variance = sum(errors)
    spread = sum(e**2 / (len(s) - 1) for e, s in zip(errors, (old, new), strict=True))
    df = variance**2 / spread if spread > 0 else float(len(old) + len(new) - 2)
    return _effect(shift, variance, df, n, (old, new), half_added, alpha, False)


def _effect(
    shift: float,
    variance: float | None,
    df: float | None,
    n: int,
    sides: tuple[Logs, Logs],
    half_added: bool,
    alpha: float,
    paired: bool,
) -> Effect:
    """From the mean log ratio and its squared standard error (None: unknown) to an effect."""
    if not 0 < alpha < 1:
        raise ValueError(f"alpha is a probability between 0 and 1, not {alpha}")
    if variance is None or df is None:
        ci, p, share = None, None, None
    else:
        error = sqrt(variance)
        half = float(scipy.stats.t.isf(alpha / 2, df)) * error
        ci = (exp_or_infinity(shift - half), exp_or_infinity(shift + half))
        t = abs(shift) / error if error > 0 else (inf if shift else 0.0)
        p = float(2 * scipy.stats.t.sf(t, df))
        found = _share_of(sides)
        share = found if isfinite(found) else None
    return Effect(exp_or_infinity(shift), ci, p, n, share, alpha, df, half_added, paired)


def _squares(values: Logs) -> float:
    """Sum of squared deviations; exactly 0 for equal values, whatever the rounding of the mean.

    Spread below the rounding error of the logarithms themselves is no spread: ratios that are
    equal in exact arithmetic differ in their last digits.
    """
    largest = max(1.0, float(np.max(np.abs(values))))
    if float(np.ptp(values)) <= 16 * np.finfo(float).eps * largest:
        return 0.0
    return float(np.sum((values - values.mean()) ** 2))


def _logs_of(baseline: Sequence[float], treated: Sequence[float]) -> tuple[Logs, Logs, bool]:
    (old, new), half_added = _add_half_where_zero([baseline, treated])
    return old, new, half_added


def _add_half_where_zero(groups: Sequence[Sequence[float]]) -> tuple[list[Logs], bool]:
    values = [np.asarray(group, dtype=float) for group in groups]
    for group in values:
        if len(group) == 0:
            raise ValueError("no values: every side of a comparison needs at least one")
        if not np.all(np.isfinite(group)) or np.any(group < 0):
            raise ValueError("values of a metric must be finite and not negative")
    half_added = any(bool(np.any(group == 0)) for group in values)
    extra = 0.5 if half_added else 0.0
    return [np.log(group + extra) for group in values], half_added


_IS_TIME = re.compile(r"(seconds|cycles|time|(^|[^a-z])(ns|us|ms))$")


def sentence(effect: Effect, metric: str) -> str:
    """The effect in plain words, for a metric of which less is better.

    Times and cycles are "faster" or "slower", anything else is "fewer" or "more". The per cent
    are always the change of the metric itself: 10 % faster means that it takes 90 % of the time.
    """
    less, more = ("faster", "slower") if _IS_TIME.search(metric) else ("fewer", "more")
    unit = "" if less == "faster" else f" {metric}"
    if effect.ci is None or effect.p is None:
        word = less if effect.ratio <= 1 else more
        return (
            f"{_headline(word, unit, effect.change)} in one layout; "
            "one layout says nothing about others"
        )
    low, high = (100.0 * (bound - 1.0) for bound in effect.ci)
    tail = f"p {_p_words(effect.p)}, n = {effect.n} layouts"
    if not effect.significant:
        digits = _digits(low, high)
        return (
            f"no significant difference{' in' + unit if unit else ''} "
            f"({_percent(effect)} CI {low:+.{digits}f} … {high:+.{digits}f} %), {tail}"
        )
    word = less if effect.ratio < 1 else more
    bounds = sorted((abs(low), abs(high)))
    digits = _digits(low, high)
    return (
        f"{_headline(word, unit, effect.change, digits)} ({_percent(effect)} CI "
        f"{bounds[0]:.{digits}f} … {bounds[1]:.{digits}f} %), {tail}"
    )


def _headline(word: str, unit: str, change: float, digits: int = 1) -> str:
    size = f"{abs(change):.{digits}f} %"
    return f"{word} by {size}" if not unit else f"{size} {word}{unit}"


def _percent(effect: Effect) -> str:
    return f"{100 * (1 - effect.alpha):g} %"


def _digits(low: float, high: float) -> int:
    """Decimals that show the interval's width: one, or more where it is narrower than 0.2 %."""
    width = abs(high - low)
    if width == 0 or width >= 0.2:
        return 1
    return 2 if width >= 0.02 else 3


def _p_words(p: float) -> str:
    """A p-value with two significant digits and no floor: `= 0.032`, `= 1.2e-15`."""
    return f"= {p:.2g}"
