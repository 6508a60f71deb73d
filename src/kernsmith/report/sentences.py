# SPDX-License-Identifier: GPL-2.0-or-later
"""Verdicts and decisions in plain words."""

from __future__ import annotations

import re
from math import isinf

from kernsmith.guest.own_metric import Better
from kernsmith.stats.sequential import Decision
from kernsmith.stats.verdict import Verdict

_IS_TIME = re.compile(r"(seconds|cycles|time|(^|[^a-z])(ns|us|ms))$")


def verdict_sentence(verdict: Verdict, better: Better = "lower", sample: str = "layouts") -> str:
    """A verdict on a metric of which less is better, or more.

    Times and cycles are "faster" or "slower", other things of which less is better are "fewer" or
    "more", and those of which more is better "less" or "more". The per cent
    are always the change of the metric itself: 10 % faster means that it takes 90 % of the time.
    Whether there is a difference is said of the corrected p-value; the interval is that of this
    comparison by itself. sample: what n counts.
    """
    effect, metric = verdict.effect, verdict.metric
    less, more = ("less", "more") if better == "higher" else ("fewer", "more")
    if better == "lower" and _IS_TIME.search(metric):
        less, more = "faster", "slower"
    unit = "" if less == "faster" else f" {metric}"
    word = less if effect.ratio < 1 or (effect.ratio == 1 and effect.p is None) else more
    if effect.p is None:
        one = f"one {sample.removesuffix('s')}"
        return f"{_headline(word, unit, effect.change)} in {one}; {one} says nothing about others"
    tail = f"{_p_words(verdict)}, n = {effect.n} {sample}"
    nothing = f"no significant difference{' in' + unit if unit else ''}"
    if effect.ci is None:
        return f"{nothing} (the interval has no bounds yet), {tail}"
    sure = f"{100 * (1 - effect.alpha):g} %{' always-valid' if effect.always_valid else ''} CI"
    low, high = (100.0 * (bound - 1.0) for bound in effect.ci)
    digits = _digits(low, high)
    if not verdict.significant:
        if not low <= 0 <= high:
            nothing, sure = f"{nothing} among {verdict.tests} tests", f"by itself {sure}"
        return f"{nothing} ({sure} {low:+.{digits}f} … {high:+.{digits}f} %), {tail}"
    bounds = sorted((abs(low), abs(high)))
    return (
        f"{_headline(word, unit, effect.change, digits)} ({sure} "
        f"{bounds[0]:.{digits}f} … {bounds[1]:.{digits}f} %), {tail}"
    )


def decision_sentence(decision: Decision) -> str:
    """Why a study goes on, or has stopped."""
    n = decision.look.n
    wide = "has no bounds yet" if isinf(decision.width) else f"is {decision.width:.3g} % wide"
    if decision.reached:
        return f"stopped after {n} layouts: the interval {wide}"
    if not decision.stop:
        return f"goes on after {n} layouts: the interval {wide}"
    return (
        f"stopped at the limit of {decision.most} layouts: the interval {wide}, which is not the "
        f"{decision.asked:g} % asked for"
    )


def _headline(word: str, unit: str, change: float, digits: int = 1) -> str:
    size = f"{abs(change):.{digits}f} %"
    return f"{word} by {size}" if not unit else f"{size} {word}{unit}"


def _digits(low: float, high: float) -> int:
    """Decimals that show the interval's width: one, or more where it is narrower than 0.2 %."""
    width = abs(high - low)
    if width == 0 or width >= 0.2:
        return 1
    return 2 if width >= 0.02 else 3


def _p_words(verdict: Verdict) -> str:
    """Two significant digits and no floor: `p = 0.032`; what other tests make of it in brackets."""
    words = f"p = {verdict.effect.p:.2g}"
    if verdict.p_corrected is None or f"{verdict.p_corrected:.2g}" == f"{verdict.effect.p:.2g}":
        return words
    return f"{words} ({verdict.p_corrected:.2g} among {verdict.tests} tests)"
