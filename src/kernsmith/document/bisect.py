# SPDX-License-Identifier: GPL-2.0-or-later
"""A bisection's result: what was tested, what was decided, and the first bad commit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kernsmith.document.held import HeldView
from kernsmith.document.study import StudyDocument


@dataclass(frozen=True)
class CommitView:
    """id: its whole hash. author, date: as git writes them.

    `kernel.history.Commit` is what a repository that is there says; this is what a file tells that
    is read without one, and whose keys stay.
    """

    id: str
    subject: str
    author: str
    date: str


@dataclass(frozen=True)
class StepView:
    """A commit against the good one. Changes are in per cent of the good one.

    decision: `good`, `bad` or `skip`; the reason is a sentence.
    change, low, high: over layouts, with the always-valid interval; None when nothing could be
        measured (the bounds also when there are too few layouts for any).
    default_change: from default layout to default layout: what one binary of each says.
    instructions_change: of the kernel instructions.
    metric, better: what the other figures are of, and whether it is `lower` or `higher` that is
        better.
    """

    commit: str
    subject: str
    decision: str
    reason: str
    change: float | None = None
    low: float | None = None
    high: float | None = None
    layouts: int = 0
    default_change: float | None = None
    instructions_change: float | None = None
    metric: str = ""
    better: str = "lower"


@dataclass(frozen=True)
class BisectDocument:
    """All of a bisection's result.

    whole: the bad revision. threshold: change in per cent from which a commit is bad; negative for
    a metric of which more is better.
    first_bad: the commit, or all that it may be; empty when the bad revision is not worse.
    verdict: the study of the first bad commit and its parent; None unless there is exactly one.
    log: of `git bisect`. report: path of the HTML page. cpu: name of the CPU model; empty without
    one. held: how true it is; None when that is not known.
    """

    FORMAT: ClassVar[str] = "kernsmith-bisect"
    VERSION: ClassVar[int] = 1

    good: CommitView
    bad: CommitView
    metric: str
    threshold: float
    whole: StepView
    steps: tuple[StepView, ...]
    first_bad: tuple[CommitView, ...]
    log: str
    verdict: StudyDocument | None = None
    report: str = ""
    cpu: str = ""
    held: HeldView | None = None
