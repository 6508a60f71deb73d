# SPDX-License-Identifier: GPL-2.0-or-later
"""What is too small to be anything but the rounding of floating-point numbers."""

from __future__ import annotations

import sys


def without_rounding(square: float, largest: float, count: int) -> float:
    """A sum of squared deviations, or 0 where rounding alone can make it.

    largest: size of the largest of the numbers that deviate. count: how many they are. Each may
    be off by a few units in its last place, here by 16. NaN stays NaN.
    """
    floor = (16 * sys.float_info.epsilon * largest) ** 2 * count
    return 0.0 if square <= floor else square
