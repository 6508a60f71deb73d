# SPDX-License-Identifier: GPL-2.0-or-later
"""The geometric mean, and the one rule for zeros.

A ratio of costs is averaged on logarithms (Fleming & Wallace 1986, "How not to lie with statistics:
the correct way to summarize benchmark results", CACM 29(3)), and a zero (a layout without a single
iTLB miss) has none. The rule: the values that are compared with each other are a *scope*. As soon
as one value of a scope is 0, 0.5 is added to *all* values of it (Haldane 1956; Anscombe 1956);
a scope without a zero is taken as it is.

In a study the scope is one metric of one workload: all variants, layouts and replicates. So ratios
multiply (C against A is C against B times B against A), and whatever is said of a study, effect,
sequential look, factors or default binaries, is said of the same figures.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import exp, inf

import numpy as np
from numpy.typing import NDArray

HALF = 0.5

Logs = NDArray[np.float64]
"""Natural logarithms of a metric."""


def zero_shift(scope: Iterable[float]) -> float:
    """What is added to every value of a scope: 0.5 when one of them is 0, else 0.

    Raises:
        ValueError: negative or non-finite values.
    """
    values = np.asarray(list(scope), dtype=float)
    if not np.all(np.isfinite(values)) or np.any(values < 0):
        raise ValueError("values of a metric must be finite and not negative")
    return HALF if np.any(values == 0) else 0.0


def logs_of(values: Sequence[float], shift: float) -> Logs:
    """Natural logarithms; ``shift`` is that of the values' scope."""
    return np.asarray(np.log(np.asarray(values, dtype=float) + shift), dtype=float)


def geometric_mean(values: Sequence[float], shift: float | None = None) -> float:
    """The geometric mean of values, with ``shift`` added to each.

    shift: of their scope; None: they are a scope of their own. It is not taken off again: the
        ratio of two means of one scope is the ratio that an effect shows.

    Raises:
        ValueError: no values, or as in `zero_shift`.
    """
    if len(values) == 0:
        raise ValueError("there is no mean of no values")
    added = zero_shift(values) if shift is None else shift
    if len(values) == 1:
        return float(values[0]) + added
    return float(np.exp(logs_of(values, added).mean()))


def mean_ratio(pairs: Iterable[tuple[float, float]]) -> float:
    """Geometric mean of the ratios treated / baseline; each pair (baseline, treated) is a scope.

    Raises:
        ValueError: no pairs, or as in `zero_shift`.
    """
    logs = [logs_of([old, new], zero_shift([old, new])) for old, new in pairs]
    if not logs:
        raise ValueError("there is no mean of no ratios")
    return exp_or_infinity(float(np.mean([new - old for old, new in logs])))


def exp_or_infinity(x: float) -> float:
    """exp(x), infinite where it does not fit into a double: bounds of ratios may be that wide."""
    return exp(x) if x < 709.0 else inf
