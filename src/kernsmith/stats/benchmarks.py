# SPDX-License-Identifier: GPL-2.0-or-later
"""One figure for many benchmarks: which mean, of which gain, with which interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import nan
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from kernsmith.stats.means import mean_ratio
from kernsmith.stats.samples import Sample, Summary

Array = NDArray[np.float64]
Better = Literal["lower", "higher"]
RESAMPLES = 10_000
FEWEST_BENCHMARKS = 5
"""Of fewer benchmarks a resample says nothing about others."""


@dataclass(frozen=True)
class GeometricMean:
    """Geometric mean of the ratios of arithmetic means over benchmarks.

    run_low, run_high: other runs of these benchmarks; NaN without standard deviations.
    benchmark_low, benchmark_high: other benchmarks like these; NaN for fewer than five.
    index: UnixBench's, where the baseline has 10 and more is better.
    """

    a: str
    b: str
    benchmarks: int
    ratio: float
    run_low: float
    run_high: float
    benchmark_low: float
    benchmark_high: float
    index: float


@dataclass(frozen=True)
class Gain:
    """A mean gain in per cent by one definition; positive is better."""

    definition: str
    mean: str
    percent: float


def geometric_mean(
    pairs: Mapping[str, tuple[Summary, Summary]],
    samples: Mapping[str, tuple[Sample, Sample]],
    *,
    alpha: float = 0.05,
    better: Better = "lower",
    seed: int = 1,
) -> GeometricMean | None:
    """Over the benchmarks that have both groups; None where a mean is not positive.

    pairs: by benchmark, the baseline's and the other group's figures. samples: the same groups'
        values; where missing, the resampling is parametric (normal, Student's spread).

    Bootstrap percentile intervals (Efron & Tibshirani 1993, chapter 13) with 10,000 resamples
    and a fixed seed: once of the runs within each group and benchmark, once of the benchmarks.
    """
    if not pairs or any(not (a.mean > 0 and b.mean > 0) for a, b in pairs.values()):
        return None
    logs = np.array([np.log(b.mean / a.mean) for a, b in pairs.values()])
    random = np.random.default_rng(seed)
    runs = _run_resamples(pairs, samples, random)
    run_low, run_high = _percentiles(runs, alpha) if runs is not None else (nan, nan)
    low, high = nan, nan
    if len(logs) >= FEWEST_BENCHMARKS:
        drawn = random.integers(0, len(logs), (RESAMPLES, len(logs)))
        low, high = _percentiles(logs[drawn].mean(axis=1), alpha)
    ratio = mean_ratio([(a.mean, b.mean) for a, b in pairs.values()])
    a, b = next(iter(pairs.values()))
    index = 10.0 * (ratio if better == "higher" else 1.0 / ratio)
    return GeometricMean(a.name, b.name, len(logs), ratio, run_low, run_high, low, high, index)


def _percentiles(logs: Array, alpha: float) -> tuple[float, float]:
    low, high = np.exp(np.quantile(logs, [alpha / 2, 1 - alpha / 2]))
    return float(low), float(high)


def _run_resamples(
    pairs: Mapping[str, tuple[Summary, Summary]],
    samples: Mapping[str, tuple[Sample, Sample]],
    random: np.random.Generator,
) -> Array | None:
    """Mean log ratio of each resample; None where a spread is not known."""
    total = np.zeros(RESAMPLES)
    for name, (a, b) in pairs.items():
        for sign, summary, index in ((-1.0, a, 0), (1.0, b, 1)):
            sample = samples[name][index] if name in samples else None
            means = _means(summary, sample, random)
            if means is None:
                return None
            total += sign * np.log(means)
    return total / len(pairs)


def _means(summary: Summary, sample: Sample | None, random: np.random.Generator) -> Array | None:
    if summary.n < 2 or not summary.sd >= 0:
        return None
    large = summary.n > 2000
    if sample is None or large or np.any(sample.values <= 0):
        t = random.standard_t(summary.n - 1, RESAMPLES)
        means = summary.mean + summary.sd / np.sqrt(summary.n) * t
        return np.asarray(np.maximum(means, 1e-12 * summary.mean))
    drawn = random.integers(0, summary.n, (RESAMPLES, summary.n))
    # A resample has n / (n - 1) too little variance; the deviations are stretched to undo it.
    means = sample.values[drawn].mean(axis=1)
    stretched = summary.mean + (means - summary.mean) * np.sqrt(summary.n / (summary.n - 1))
    return np.asarray(np.maximum(stretched, 1e-12 * summary.mean))


def gains(old: Sequence[float], new: Sequence[float]) -> tuple[Gain, ...]:
    """The mean gain of costs (times, cycles) by every usual definition.

    old, new: cost of each benchmark before and after, positive.

    `time saved` is (old - new) / old, `speed-up` is old / new - 1. The geometric means of the two
    are the same statement (one ratio and its inverse), which no arithmetic mean of them is.
    """
    before, after = np.asarray(old, dtype=float), np.asarray(new, dtype=float)
    saved, speedup = 1 - after / before, before / after - 1
    ratio = mean_ratio(zip(old, new, strict=True))
    total = float(after.sum() / before.sum())
    found = [
        ("time saved", "arithmetic", float(saved.mean())),
        ("time saved", "geometric", 1 - ratio),
        ("time saved", "median", float(np.median(saved))),
        ("time saved", "total", 1 - total),
        ("speed-up", "arithmetic", float(speedup.mean())),
        ("speed-up", "geometric", 1 / ratio - 1),
        ("speed-up", "harmonic", float(len(after) / (after / before).sum()) - 1),
        ("speed-up", "median", float(np.median(speedup))),
        ("speed-up", "total", 1 / total - 1),
    ]
    return tuple(Gain(definition, mean, 100 * value) for definition, mean, value in found)
