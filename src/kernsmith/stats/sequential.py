# SPDX-License-Identifier: GPL-2.0-or-later
"""Going on until it is clear, with the error rate kept: an always-valid t interval.

Who looks at a study after every layout and stops as soon as p < 0.05 is wrong far more often
than in 5 % of all studies. A *confidence sequence* is an interval for every n at once: with
probability 1 - alpha it holds the truth at all n together, so it may be looked at after every
layout and the study may stop for any reason, at any time.

The sequence is the one of the Gaussian mixture over the standardised effect with the right Haar
prior on the standard deviation (Wang & Ramdas 2025, "Anytime-valid t-tests and confidence
sequences for Gaussian means with unknown variance"; the Bayes factor of Rouder et al. 2009 with a
normal prior; that it is a test martingale: Hendriksen, de Heide & Grünwald 2021, Bayesian
Analysis 16(3)). For values x of unknown variance with mean m and S = Σ(x - m)², V = Σ(x - m)²:

    M(n) = sqrt(c / (n + c)) * [1 - S² / ((n + c) V)]^(-n/2)       S here: Σ (x - hypothesis)

is a nonnegative martingale that starts at 1 under the hypothesis; by Ville's inequality it ever
exceeds 1 / alpha with probability alpha at most. Inverting it gives the interval, and 1 / M(n) the
p-value, which is valid at whichever n a study stops: it is at most alpha exactly where the interval
leaves the hypothesis out. (1 / max M would be valid, too, and smaller where the first values said
more than all of them do; a verdict by it could contradict the interval beside it.) The price for
looking at any time is an interval about 1.8 times as wide as Student's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import exp, inf, isfinite, isinf, log, sqrt

import numpy as np

from kernsmith.stats.effect import Effect, effect_of, squares
from kernsmith.stats.means import Logs, exp_or_infinity

PRIOR = 0.25
"""c of the mixture: effects of about 1 / sqrt(c) standard deviations are found soonest, and the
interval has bounds from the fourth value on."""


@dataclass(frozen=True)
class Look:
    """What is known after n values.

    mean: of the values. low, high: always-valid interval, infinite for n < 2 and until enough
    values are there. p: always-valid p-value of the mean being 0.
    """

    n: int
    mean: float
    low: float
    high: float
    p: float

    @property
    def width(self) -> float:
        return self.high - self.low


@dataclass(frozen=True)
class Decision:
    """Whether a study may stop.

    stop: the target is reached, or the limit. reached: the target is reached.
    look: the figures that are valid whatever made the study stop.
    width: of the ratio's interval, in per cent of the baseline; infinite until it has bounds.
    asked, most: the target and the limit.
    """

    stop: bool
    reached: bool
    look: Look
    width: float
    asked: float
    most: int


def look_at(values: Sequence[float], *, alpha: float = 0.05, prior: float = PRIOR) -> Look:
    """The always-valid interval and p-value after all of ``values``, in their order.

    values: differences of paired layouts, of logarithms where ratios are meant.

    Raises:
        ValueError: no values, or an alpha outside (0, 1).
    """
    if len(values) == 0:
        raise ValueError("there is nothing to look at yet")
    if not 0 < alpha < 1:
        raise ValueError(f"alpha is a probability between 0 and 1, not {alpha}")
    x = np.asarray(values, dtype=float)
    n = len(x)
    mean = float(x.mean())
    half = _half_width(n, squares(x), alpha, prior)
    counts = np.arange(1, n + 1)
    p = float(np.exp(-max(0.0, _log_martingale(x, counts, prior)[-1])))
    return Look(n, mean, mean - half, mean + half, p)


def decide(
    values: Sequence[float],
    *,
    width: float,
    most: int,
    alpha: float = 0.05,
    tests: int = 1,
    prior: float = PRIOR,
) -> Decision:
    """Whether to stop now: the ratio's interval is narrower than ``width`` per cent, or ``most``
    values are there.

    values: log ratios of paired layouts. width: upper minus lower bound of the interval, in per
        cent of the baseline.
    tests: how many tests a verdict is corrected for. A study does not stop before there are
        enough values for any of them to be significant.
    """
    look = look_at(values, alpha=alpha, prior=prior)
    found = inf if isinf(look.width) else 100.0 * (exp_or_infinity(look.high) - exp(look.low))
    reached = found <= width and isfinite(_half_width(look.n, 0.0, alpha / tests, prior))
    return Decision(reached or look.n >= most, reached, look, found, width, most)


def always_valid_effect(
    old: Logs, new: Logs, *, paired: bool, half_added: bool = False, alpha: float = 0.05
) -> Effect:
    """The effect of a study that was looked at as often as one pleased.

    old, new: logarithms of baseline and treated in the order in which layouts were drawn. Layouts
        that are not paired are taken in that order, too: their differences are as independent.
    """
    n = min(len(old), len(new))
    fixed = effect_of(old[:n], new[:n], paired=paired, half_added=half_added, alpha=alpha)
    if n < 2:
        return fixed
    differences = new[:n] - old[:n]
    look = look_at(differences.tolist(), alpha=alpha)
    error = sqrt(squares(differences) / (n - 1) / n)
    return replace(
        fixed,
        ratio=exp_or_infinity(look.mean),
        ci=ratio_bounds(look.low, look.high),
        p=look.p,
        df=None,
        error=error,
        always_valid=True,
    )


def always_valid_interval(
    shift: float, error: float, n: int, alpha: float, prior: float = PRIOR
) -> tuple[float, float] | None:
    """Interval of the ratio exp(shift) with confidence 1 - alpha at any n; None without bounds.

    error: standard error of the mean of n log ratios.
    """
    half = _half_width(n, error**2 * n * (n - 1), alpha, prior)
    return ratio_bounds(shift - half, shift + half)


def ratio_bounds(low: float, high: float) -> tuple[float, float] | None:
    """The bounds of a ratio from those of its logarithm; None where they are infinite."""
    if not isfinite(low) or not isfinite(high):
        return None
    return exp_or_infinity(low), exp_or_infinity(high)


def _half_width(n: int, squares: float, alpha: float, prior: float) -> float:
    if n < 2:
        return inf
    bound = -np.expm1((2 * log(alpha) + log(prior / (n + prior))) / n)
    room = n - bound * (n + prior)
    if room <= 0:
        return inf
    return sqrt(bound * (n + prior) * squares / (n * room))


def _log_martingale(
    x: np.ndarray[tuple[int, ...], np.dtype[np.float64]],
    counts: np.ndarray[tuple[int, ...], np.dtype[np.int64]],
    prior: float,
) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """log M at each n along the last axis of x, for the hypothesis that the mean is 0."""
    sums, squares = np.cumsum(x, axis=-1), np.cumsum(x**2, axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(squares > 0, sums**2 / ((counts + prior) * squares), 0.0)
    return np.asarray(
        0.5 * np.log(prior / (counts + prior)) - 0.5 * counts * np.log1p(-share), dtype=float
    )
