# SPDX-License-Identifier: GPL-2.0-or-later
"""The history of a source: what each revision costs, and where that has changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kernsmith.document.bisect import CommitView
from kernsmith.document.factors import Bounds
from kernsmith.document.held import HeldView

OVERALL_HISTORY = "overall"
"""The name of the history over all workloads: their geometric mean."""


@dataclass(frozen=True)
class RevisionView:
    """name: of its tag; empty where none is asked for. variant: of the study. failed: why it has
    no figures, a sentence; empty where it has."""

    name: str
    variant: str
    commit: CommitView
    failed: str = ""


@dataclass(frozen=True)
class PointView:
    """A revision against the oldest one: change in per cent over layouts with its interval, and
    figure in the metric's unit, the geometric mean over layouts. default_change: from default
    layout to default layout, what one binary of each says; None where one is missing."""

    revision: int
    figure: float
    change: float
    ci: Bounds | None
    default_change: float | None


@dataclass(frozen=True)
class ChangePointView:
    """From this revision on a workload costs something else than in the stretch before.

    revision, before: numbers of the first one of the new stretch, and of the last one that was
    measured before it. change, ci: of the stretch against the one before, in per cent; the interval
    and p are those of one among all tests that could have been made (`stats.change_points`).
    worse: by the metric's direction.
    """

    revision: int
    before: int
    change: float
    ci: Bounds
    p: float
    worse: bool


@dataclass(frozen=True)
class HistoryView:
    """One workload, or `overall`. layouts: how many each revision was measured in."""

    workload: str
    layouts: int
    points: tuple[PointView, ...]
    change_points: tuple[ChangePointView, ...]


@dataclass(frozen=True)
class WatchDocument:
    """All of a history.

    source: the name of its repository's folder. config: its name, or that of its file.
    commit_url: of a commit's page, with `%s` for the hash or `%t` for the revision's name; empty:
        there is none. least: per cent; smaller changes are not told.
    report: the way to the study's page from the site's folder.
    failures: a line each; the study's report has all that they say. site: the folder that was
        written. histories: the one over all workloads first, where there are
        several.
    """

    FORMAT: ClassVar[str] = "kernsmith-watch"
    VERSION: ClassVar[int] = 1

    kernsmith: str
    source: str
    config: str
    metric: str
    unit: str
    better: str
    alpha: float
    least: float
    revisions: tuple[RevisionView, ...]
    histories: tuple[HistoryView, ...]
    failures: tuple[str, ...] = ()
    commit_url: str = ""
    report: str = ""
    site: str = ""
    cpu: str = ""
    held: HeldView | None = None

    @property
    def change_points(self) -> tuple[tuple[HistoryView, ChangePointView], ...]:
        """All change points, the newest first."""
        found = [
            (history, change_point)
            for history in self.histories
            for change_point in history.change_points
        ]
        return tuple(sorted(found, key=lambda pair: -pair[1].revision))
