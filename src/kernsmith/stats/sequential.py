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
exceeds 1 / alpha with probability alpha at most. Inverting it gives the interval, 1 / max M the
p-value. The price for looking at any time is an interval about 1.8 times as wide as Student's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, inf, isinf, log, sqrt

import numpy as np

from kernsmith.stats.samples import exp_or_infinity

PRIOR = 0.25
"""c of the mixture: effects of about 1 / sqrt(c) standard deviations are found soonest, and the
interval has bounds from the fourth value on."""


@dataclass(frozen=True)
class Look:
    """What is known after n values.

    mean: of the values. low, high: always-valid interval, infinite for n < 2 and until enough
    values are there. p: always-valid p-value of the mean being 0; it never rises again.
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
    sentence: the reason, for the user.
    """

    stop: bool
    reached: bool
    look: Look
    sentence: str


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
    half = _half_width(n, float(((x - mean) ** 2).sum()), alpha, prior)
    counts = np.arange(1, n + 1)
    p = float(np.exp(-max(0.0, _log_martingale(x, counts, prior).max())))
    return Look(n, mean, mean - half, mean + half, p)


def decide(
    values: Sequence[float],
    *,
    width: float,
    most: int,
    alpha: float = 0.05,
    prior: float = PRIOR,
) -> Decision:
    """Whether to stop now: the ratio's interval is narrower than ``width`` per cent, or ``most``
    values are there.

    values: log ratios of paired layouts. width: upper minus lower bound of the interval, in per
        cent of the baseline.
    """
    look = look_at(values, alpha=alpha, prior=prior)
    found = inf if isinf(look.width) else 100.0 * (exp_or_infinity(look.high) - exp(look.low))
    wide = "has no bounds yet" if isinf(found) else f"is {found:.3g} % wide"
    if found <= width:
        text = f"stopped after {look.n} layouts: the interval {wide}"
        return Decision(True, True, look, text)
    if look.n >= most:
        text = (
            f"stopped at the limit of {most} layouts: the interval {wide}, which is not the "
            f"{width:g} % asked for"
        )
        return Decision(True, False, look, text)
    text = f"goes on after {look.n} layouts: the interval {wide}"
    return Decision(False, False, look, text)


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
