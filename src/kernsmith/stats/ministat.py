# SPDX-License-Identifier: GPL-2.0-or-later
"""ministat's figures and its verdict, to its printed digits (FreeBSD's usr.bin/ministat).

Three of its habits are kept on purpose, and only here: the median of an even number of values is
the upper one, Student's t comes from a table with three decimals (beyond 100 degrees of freedom:
the normal distribution's), and what it calls 99.5 % is the table's column for 99.8 %.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import scipy

from kernsmith.stats.samples import Array, Sample, Summary

HEADER = "    N           Min           Max        Median           Avg        Stddev"
SYMBOLS = "x+*%#@O"
_TWO_SIDED = {80.0: 0.2, 90.0: 0.1, 95.0: 0.05, 98.0: 0.02, 99.0: 0.01, 99.5: 0.002}


@dataclass(frozen=True)
class MinistatVerdict:
    """What ministat says of a set against the first one.

    proven: whether the difference is larger than ``error``.
    difference, error: in the unit of the values; percent, percent_error: of the first set's mean.
    """

    confidence: float
    proven: bool
    difference: float
    error: float
    percent: float
    percent_error: float
    pooled_sd: float

    def lines(self) -> list[str]:
        """The verdict as ministat prints it."""
        if not self.proven:
            return [f"No difference proven at {self.confidence:.1f}% confidence"]
        return [
            f"Difference at {self.confidence:.1f}% confidence",
            f"\t{self.difference:g} +/- {self.error:g}",
            f"\t{self.percent:g}% +/- {self.percent_error:g}%",
            f"\t(Student's t, pooled s = {self.pooled_sd:g})",
        ]


def ministat_verdict(baseline: Summary, other: Summary, alpha: float) -> MinistatVerdict | None:
    """Compares ``other`` with ``baseline`` as ministat does.

    None where ministat has no column for this confidence, for fewer than three values a set (it
    refuses them), without standard deviations, or for a baseline mean of 0 (it divides by it).
    """
    confidence = round(100.0 * (1.0 - alpha), 6)
    known = baseline.sd >= 0 and other.sd >= 0
    if confidence not in _TWO_SIDED or min(baseline.n, other.n) < 3 or not known:
        return None
    if not baseline.mean:
        return None
    df = baseline.n + other.n - 2
    pooled = (baseline.n - 1) * baseline.variance + (other.n - 1) * other.variance
    sd = sqrt(pooled / df)
    error = student(confidence, df) * sd * sqrt(1.0 / baseline.n + 1.0 / other.n)
    difference = other.mean - baseline.mean
    return MinistatVerdict(
        confidence=confidence,
        proven=abs(difference) > error,
        difference=difference,
        error=error,
        percent=difference * 100 / baseline.mean,
        percent_error=error * 100 / baseline.mean,
        pooled_sd=sd,
    )


def student(confidence: float, df: int) -> float:
    """The entry of ministat's table: three decimals, the normal distribution beyond 100."""
    half = _TWO_SIDED[confidence] / 2
    exact = scipy.stats.norm.isf(half) if df > 100 else scipy.stats.t.isf(half, df)
    return round(float(exact), 3)


def upper_median(values: Array) -> float:
    """ministat's median: element n / 2 of the sorted values, counted from 0."""
    return float(sorted(values)[len(values) // 2])


def ministat_row(symbol: str, sample: Sample, summary: Summary) -> str:
    """One line of ministat's table."""
    figures = (
        summary.minimum,
        summary.maximum,
        upper_median(sample.values),
        summary.mean,
        summary.sd,
    )
    return f"{symbol} {summary.n:3d} " + " ".join(f"{figure:13.8g}" for figure in figures)


def ministat_report(
    samples: Sequence[Sample], summaries: Sequence[Summary], alpha: float
) -> list[str]:
    """All that ``ministat -A FILE FILE…`` prints, with group names for file names.

    Empty with more than seven groups, which ministat cannot take.
    """
    if not 1 <= len(samples) <= len(SYMBOLS):
        return []
    lines = [f"{symbol} {each.name}" for symbol, each in zip(SYMBOLS, samples, strict=False)]
    lines.append(HEADER)
    for symbol, sample, summary in zip(SYMBOLS, samples, summaries, strict=False):
        lines.append(ministat_row(symbol, sample, summary))
        if sample is samples[0]:
            continue
        verdict = ministat_verdict(summaries[0], summary, alpha)
        lines += verdict.lines() if verdict else ["(no verdict: ministat needs three values)"]
    return lines
