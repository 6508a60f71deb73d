# SPDX-License-Identifier: GPL-2.0-or-later
"""How true a CPU model is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class HeldView:
    """How far off a CPU model was when it was held against a processor (docs/silicon.md).

    On programs that did not calibrate it, or of a kernel's workloads, as `of` says. measured: year
    and month. calibrated: how many of its figures were fitted. cycles_percent: mean error of
    cycles. ratio_points, worst_points: mean and largest error of the ratio of two builds, in
    percentage points. sign_percent: of pairs of builds that the processor tells apart, how many the
    model orders the same way. rank_correlation: of layouts of one build; rank_allowed: what the
    noise of the times allows. names: of the programs or workloads, which have calibrated the file's
    figures or were in view when it was made.
    """

    processor: str
    measured: str
    programs: int
    calibrated: int
    cycles_percent: float
    ratio_points: float
    worst_points: float
    sign_percent: float | None
    rank_correlation: float
    rank_allowed: float
    of: str = "programs"
    names: tuple[str, ...] = ()
