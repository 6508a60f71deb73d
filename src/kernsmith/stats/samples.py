# SPDX-License-Identifier: GPL-2.0-or-later
"""Samples and what is known of them: values by group, or published summaries without values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, nan, sqrt

import numpy as np
import scipy
from numpy.typing import NDArray

from kernsmith.stats.means import geometric_mean

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Sample:
    """The values of one group.

    levels: one level a factor.
    values: finite.
    position: place of each value in the order of the runs of its stratum, from 0.
    row: line of each value in its file, from 1; 0 where there is none.
    """

    levels: tuple[str, ...]
    values: Array
    position: NDArray[np.int64]
    row: NDArray[np.int64]

    @property
    def name(self) -> str:
        return group_name(self.levels)


@dataclass(frozen=True)
class Summary:
    """Figures of one group.

    n: number of values. mean, sd: arithmetic mean, standard deviation with n - 1; sd is NaN for
    one value. minimum, maximum, median, geometric_mean: NaN where they are not known
    (published tables), the last also where a value is not positive.
    """

    levels: tuple[str, ...]
    n: int
    mean: float
    sd: float
    minimum: float = nan
    median: float = nan
    maximum: float = nan
    geometric_mean: float = nan
    log_sd: float = nan

    @property
    def name(self) -> str:
        return group_name(self.levels)

    @property
    def variance(self) -> float:
        return self.sd**2

    @property
    def cv(self) -> float:
        """Coefficient of variation in per cent; NaN for a mean of 0."""
        return 100.0 * self.sd / abs(self.mean) if self.mean else nan

    def mean_interval(self, alpha: float) -> tuple[float, float]:
        """Confidence interval of the mean (Student); NaN for one value."""
        if self.n < 2 or not isfinite(self.sd):
            return (nan, nan)
        half = float(scipy.stats.t.isf(alpha / 2, self.n - 1)) * self.sd / sqrt(self.n)
        return (self.mean - half, self.mean + half)


@dataclass(frozen=True)
class Stratum:
    """Groups that are compared with each other: all of them, or those of one machine.

    name: the level of the column of ``--within``; None without one.
    samples: empty when only summaries are known.
    """

    name: str | None
    summaries: tuple[Summary, ...]
    samples: tuple[Sample, ...] = ()

    @classmethod
    def of(cls, name: str | None, samples: Sequence[Sample]) -> Stratum:
        return cls(name, tuple(summarise(sample) for sample in samples), tuple(samples))


def group_name(levels: Sequence[str]) -> str:
    """How a group is called: its levels, in the order of the factors."""
    return " × ".join(levels)


def summarise(sample: Sample) -> Summary:
    """The figures of a sample.

    Raises:
        ValueError: no values.
    """
    values = sample.values
    if len(values) == 0:
        raise ValueError(f"group {sample.name!r} has no values")
    logs = np.log(values) if np.all(values > 0) else None
    equal = bool(values.min() == values.max())
    return Summary(
        levels=sample.levels,
        n=len(values),
        mean=float(values[0]) if equal else float(values.mean()),
        sd=spread(values),
        minimum=float(values.min()),
        median=float(np.median(values)),
        maximum=float(values.max()),
        geometric_mean=nan if logs is None else geometric_mean(values.tolist()),
        log_sd=nan if logs is None else spread(logs),
    )


def spread(values: Array) -> float:
    """Standard deviation with n - 1: NaN for one value, exactly 0 for equal ones."""
    if len(values) < 2:
        return nan
    if values.min() == values.max():
        return 0.0
    return float(values.std(ddof=1))
