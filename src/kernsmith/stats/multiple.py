# SPDX-License-Identifier: GPL-2.0-or-later
"""Many tests, one error rate."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan, nan


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down correction (1979): adjusted p-values in the order given.

    The family-wise error rate holds whatever the dependence between the tests. NaN stays NaN and
    does not count as a test.
    """
    order = sorted((p, index) for index, p in enumerate(p_values) if not isnan(p))
    adjusted = [nan] * len(p_values)
    highest = 0.0
    for rank, (p, index) in enumerate(order):
        highest = max(highest, min(1.0, (len(order) - rank) * p))
        adjusted[index] = highest
    return adjusted
