# SPDX-License-Identifier: GPL-2.0-or-later
"""How far the values of one figure lie apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan

import numpy as np


@dataclass(frozen=True)
class Spread:
    """Mean, standard deviation (n - 1; 0 for one value), their ratio (NaN for a mean of 0), and
    quantiles."""

    n: int
    mean: float
    sd: float
    cv_percent: float
    low: float
    percent_5: float
    median: float
    percent_95: float
    high: float


def spread_of(values: Sequence[float]) -> Spread:
    """The spread of at least one value; quantiles are interpolated linearly."""
    mean = float(np.mean(values))
    sd = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    low, percent_5, median, percent_95, high = (
        float(quantile) for quantile in np.percentile(values, [0, 5, 50, 95, 100])
    )
    cv = 100 * sd / mean if mean else nan
    return Spread(len(values), mean, sd, cv, low, percent_5, median, percent_95, high)
