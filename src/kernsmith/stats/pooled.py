# SPDX-License-Identifier: GPL-2.0-or-later
"""How far apart two values lie that nothing tells apart, from groups of such values."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np
import scipy


def apart_by_luck(groups: Sequence[Sequence[float]], alpha: float = 0.05) -> float:
    """How far apart two values of one group are at most, at the level 1 - `alpha`.

    The prediction interval of a difference: Student's t times √2 times the standard deviation
    within groups, pooled over those that have several values (Montgomery, Design and Analysis of
    Experiments, section 3.3). In the unit of the values; 0 where no group has several.
    """
    several = [np.asarray(group) for group in groups if len(group) > 1]
    df = sum(len(group) - 1 for group in several)
    if not df:
        return 0.0
    squares = sum(float(((group - group.mean()) ** 2).sum()) for group in several)
    return float(scipy.stats.t.isf(alpha / 2, df)) * sqrt(2 * squares / df)
