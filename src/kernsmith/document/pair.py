# SPDX-License-Identifier: GPL-2.0-or-later
"""What two machines say of the same kernels and layouts."""

from __future__ import annotations

from dataclasses import dataclass

from kernsmith.document.factors import Bounds


@dataclass(frozen=True)
class ComparedView:
    """A variant against the baseline on both machines, each by its own metric.

    workload: its name, or `overall`. first, second: the ratios, with their intervals.
    ratio: second / first, over layouts that both machines have; ci, p: of it, None with one layout.
    n: layouts. p_corrected: by Holm, over all of these. disagree: it differs from 1, corrected.
    sentence: in words.
    """

    variant: str
    workload: str
    first: float
    first_ci: Bounds | None
    second: float
    second_ci: Bounds | None
    ratio: float
    ci: Bounds | None
    p: float | None
    p_corrected: float | None
    n: int
    disagree: bool
    sentence: str


@dataclass(frozen=True)
class RanksView:
    """Whether both machines put things in the same order.

    of: `layouts` of this variant, by their figures; or `workloads`, by this variant's ratios.
    n: how many. correlation: Spearman's. ci: its interval; None for fewer than five.
    allowed: of layouts, the most that the noise of repeated runs allows on average; None where runs
        were not repeated.
    """

    of: str
    variant: str
    n: int
    correlation: float
    ci: Bounds | None
    allowed: float | None
