# SPDX-License-Identifier: GPL-2.0-or-later
"""Which objects bring most of the difference between two kernels, each measured by itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kernsmith.document.blame import MixedSideView


@dataclass(frozen=True)
class MixChangeView:
    """A mixed kernel against the good one, over layouts.

    taken: how many objects of the bad kernel it has. change: of the metric, in per cent of the good
    kernel; low, high: its interval.
    """

    taken: int
    change: float
    low: float
    high: float


@dataclass(frozen=True)
class FunctionShareView:
    """A function. expected: see `ShareView`."""

    name: str
    expected: float


@dataclass(frozen=True)
class ShareView:
    """An object of the bad kernel in the good one, and no other.

    expected: what its functions cost more or less in the bad kernel, in the layout of the link
        (per cent of the good kernel): by that it was chosen to be measured.
    change, low, high: as it was measured over layouts, with the interval that belongs to the
        corrected p-value; None where it was not.
    p: corrected for all objects that were measured (Holm). significant: p below alpha.
    functions: those of which most is expected. failure: why it was not measured.
    """

    object: str
    expected: float
    functions: tuple[FunctionShareView, ...]
    change: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    significant: bool = False
    failure: str = ""


@dataclass(frozen=True)
class SharesDocument:
    """All of such a result.

    base: whose rules all mixed kernels are linked by, `good` or `bad`.
    layouts: random ones, in which each mixed kernel was measured. alpha: error rate.
    objects, suspects: how many the kernels have, and how many of them differ; ran: of how many of
        these anything was executed.
    whole: all suspects together; None where no objects differ.
    top: the objects that bring most of it, in the direction of the whole; others: what was measured
        besides. Both from the largest change down; empty where the whole has no significant
        change.
    together: all of `top` in one kernel.
    unmeasured: expected of all other suspects. unchanged: what objects that do not differ cost more
        or less, because they lie elsewhere.
    among: patterns of the objects that were looked at; the others are the good kernel's in every
        mixed kernel, and no suspects. Empty for all.
    report: path of the HTML page.
    """

    FORMAT: ClassVar[str] = "kernsmith-shares"
    VERSION: ClassVar[int] = 1

    good: MixedSideView
    bad: MixedSideView
    base: str
    workloads: tuple[str, ...]
    metric: str
    cpu: str
    layouts: int
    alpha: float
    objects: int
    suspects: int
    ran: int
    whole: MixChangeView | None
    top: tuple[ShareView, ...]
    others: tuple[ShareView, ...]
    together: MixChangeView | None
    unmeasured: float
    unchanged: float
    among: tuple[str, ...] = ()
    report: str = ""

    @property
    def share(self) -> float | None:
        """Which part of the whole change the objects of `top` make together, in per cent of it."""
        if self.whole is None or self.together is None or not self.whole.change:
            return None
        return 100 * self.together.change / self.whole.change
