# SPDX-License-Identifier: GPL-2.0-or-later
"""The luck in a study's figures: in which layout and which page the code happened to land."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class LuckView:
    """What one binary of each variant would have said, beside what holds over layouts.

    change, default_change: over layouts, and from default layout to default layout, in per cent.
    spread: by variant, the lowest and the highest layout in per cent of the mean of all.
    """

    variant: str
    metric: str
    change: float
    default_change: float | None
    spread: Mapping[str, tuple[float, float]]
    sentence: str


@dataclass(frozen=True)
class TextEndView:
    """A variant whose text ends in another large page than the baseline's, in the default layouts.

    bytes, baseline_bytes: of both texts.
    """

    variant: str
    bytes: int
    baseline_bytes: int
    sentence: str


@dataclass(frozen=True)
class MixView:
    """A variant in each random layout: the geometric mean over all workloads.

    values: (block, figure in the metric's unit), in the order of the blocks.
    low, high: the lowest and the highest layout in per cent of the geometric mean of all.
    """

    variant: str
    metric: str
    values: tuple[tuple[int, float], ...]
    low: float
    high: float
