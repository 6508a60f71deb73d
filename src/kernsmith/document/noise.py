# SPDX-License-Identifier: GPL-2.0-or-later
"""How much noise is in real times that were taken twice."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class NoiseView:
    """A variant's layouts, each with an estimate by either half of the times that were taken.

    runs: how many layouts. median, most: by how much the halves differ, in per cent.
    spread: standard deviation of its random layouts, in per cent; None for fewer than two.
    agreement: Spearman's correlation of the halves over these layouts; None for fewer than four.
    """

    variant: str
    metric: str
    runs: int
    median: float
    most: float
    spread: float | None
    agreement: float | None
