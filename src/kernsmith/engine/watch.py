# SPDX-License-Identifier: GPL-2.0-or-later
"""The history of a source: one study whose variants are its revisions, and its change points.

Nothing is kept beside what every study keeps: kernels and trials of revisions that were there
before are taken from caches and ledger, so a range that has grown by one costs one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import exp, isfinite, log1p, nan
from pathlib import Path

import numpy as np

from kernsmith import __version__
from kernsmith.document import (
    ChangePointView,
    CommitView,
    HistoryView,
    PointView,
    RevisionView,
    WatchDocument,
)
from kernsmith.document.watch import OVERALL_HISTORY
from kernsmith.engine.held import held_in
from kernsmith.engine.verdicts import (
    StudyResult,
    direction_of_study,
    in_a_line,
    observations,
    primary_metric,
)
from kernsmith.kernel.history import Commit, Repository
from kernsmith.machine.metrics import metric as catalogued
from kernsmith.stats.change_points import LEAST, find_change_points
from kernsmith.stats.effect import effect_of
from kernsmith.stats.means import Logs, logs_of, zero_shift
from kernsmith.stats.observations import DEFAULT_LAYOUT, Observation
from kernsmith.study import Study
from kernsmith.study.source_word import SourceWord

_HASH_SHOWN = 12


@dataclass(frozen=True)
class Revision:
    """A revision to measure. name: of its tag; empty: it has none."""

    commit: Commit
    name: str = ""

    @property
    def variant(self) -> str:
        """What a study calls it: by the beginning of its hash, behind the tag."""
        short = self.commit.id[:_HASH_SHOWN]
        return f"{self.name} {short}" if self.name else short


def study_of(study: Study, repository: Repository, revisions: Sequence[Revision]) -> Study:
    """The study of these revisions, oldest first: all others are compared with that one."""
    sources = [
        str(SourceWord("git", str(repository.folder), revision.commit.id)) for revision in revisions
    ]
    return replace(
        study,
        source=sources[0],
        factors=(),
        variants=tuple(
            (revision.variant, (("source", source),))
            for revision, source in zip(revisions, sources, strict=True)
        ),
    )


def watch_document(
    result: StudyResult,
    revisions: Sequence[Revision],
    source: str,
    *,
    least: float = 0.0,
    commit_url: str = "",
) -> WatchDocument:
    """What the study of these revisions tells of the source's history.

    source: what readers call it. least, commit_url: see `WatchDocument`.

    Raises:
        UserError: the study asks for a metric that was not measured.
    """
    prepared = result.prepared
    rows = observations(result.measured, result.prepared.study.design)
    metric = primary_metric(prepared.study.design, {row.metric for row in rows})
    better = direction_of_study(prepared)
    listed = {each.name: each for each in prepared.metrics}
    kept = [row for row in rows if row.metric == metric]
    names = [workload.name for workload in prepared.workloads]
    tables = {name: _table([r for r in kept if r.workload == name], revisions) for name in names}
    if len(names) > 1:
        tables = {OVERALL_HISTORY: _overall(list(tables.values())), **tables}
    looked = _Looked(prepared.study.design.alpha, least, len(tables), better == "lower")
    return WatchDocument(
        kernsmith=__version__,
        source=source,
        config=Path(prepared.study.config).name,
        metric=metric,
        unit=(listed.get(metric) or catalogued(metric)).unit,
        better=better,
        alpha=looked.alpha,
        least=least,
        revisions=tuple(_revision(result, each, tables) for each in revisions),
        histories=tuple(_history(name, table, looked) for name, table in tables.items()),
        failures=tuple(map(in_a_line, result.failures)),
        commit_url=commit_url,
        cpu=prepared.study.cpu,
        held=held_in(prepared.study, prepared.machine),
    )


@dataclass(frozen=True)
class _Looked:
    """How change points are looked for. least: in per cent. tables: that are looked at together.
    worse_above: less of the metric is better."""

    alpha: float
    least: float
    tables: int
    worse_above: bool


@dataclass(frozen=True)
class _Table:
    """Logarithms of one workload. drawn: of shape (layouts, revisions), NaN for revisions without
    figures; default: of the default layouts."""

    drawn: Logs
    default: Logs

    @property
    def measured(self) -> list[int]:
        """The numbers of the revisions that have all layouts."""
        return [n for n in range(self.drawn.shape[1]) if not np.isnan(self.drawn[:, n]).any()]


def _table(rows: Sequence[Observation], revisions: Sequence[Revision]) -> _Table:
    """Layouts that any revision has; one revision that lacks some of them is left out."""
    shift = zero_shift(row.value for row in rows)
    values: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        values.setdefault((row.variant, row.layout), []).append(row.value)
    layouts = list(dict.fromkeys(row.layout for row in rows if row.layout != DEFAULT_LAYOUT))

    def logs(layout: str) -> list[float]:
        return [
            float(logs_of(found, shift).mean())
            if (found := values.get((revision.variant, layout)))
            else nan
            for revision in revisions
        ]

    drawn = np.array([logs(layout) for layout in layouts]).reshape(len(layouts), len(revisions))
    return _Table(drawn, np.array(logs(DEFAULT_LAYOUT)))


def _overall(tables: Sequence[_Table]) -> _Table:
    """The geometric mean of all workloads; a revision that lacks one has none."""
    layouts = min(len(table.drawn) for table in tables)
    return _Table(
        np.mean([table.drawn[:layouts] for table in tables], axis=0),
        np.mean([table.default for table in tables], axis=0),
    )


def _revision(
    result: StudyResult, revision: Revision, tables: Mapping[str, _Table]
) -> RevisionView:
    number = next(
        n
        for n, variant in enumerate(result.prepared.study.variants)
        if variant[0] == revision.variant
    )
    failed = ""
    if not any(number in table.measured for table in tables.values()):
        about = [each for each in result.failures if revision.variant in each]
        failed = in_a_line((about or ["it has no figures"])[0])
    return RevisionView(
        revision.name, revision.variant, CommitView(**asdict(revision.commit)), failed
    )


def _history(name: str, table: _Table, looked: _Looked) -> HistoryView:
    measured = table.measured
    if not measured or len(table.drawn) < 1:
        return HistoryView(name, len(table.drawn), (), ())
    first = measured[0]
    points = tuple(_point(table, first, number, looked.alpha) for number in measured)
    change_points: tuple[ChangePointView, ...] = ()
    if len(table.drawn) > 1:
        found = find_change_points(
            table.drawn[:, measured],
            alpha=looked.alpha,
            sequences=looked.tables,
            least=max(LEAST, log1p(looked.least / 100)),
        )
        change_points = tuple(
            ChangePointView(
                revision=measured[change_point.at],
                before=measured[change_point.at - 1],
                change=change_point.effect.change,
                ci=_percent(change_point.effect.ci),
                p=min(1.0, (change_point.effect.p or 0.0) * (len(measured) - 1) * looked.tables),
                worse=(change_point.effect.ratio > 1) is looked.worse_above,
            )
            for change_point in found
        )
    return HistoryView(name, len(table.drawn), points, change_points)


def _point(table: _Table, first: int, number: int, alpha: float) -> PointView:
    effect = effect_of(table.drawn[:, first], table.drawn[:, number], paired=True, alpha=alpha)
    default = float(table.default[number] - table.default[first])
    return PointView(
        revision=number,
        figure=exp(float(table.drawn[:, number].mean())),
        change=effect.change,
        ci=_percent(effect.ci) if effect.ci else None,
        default_change=100 * (exp(default) - 1) if isfinite(default) else None,
    )


def _percent(ratios: tuple[float, float] | None) -> tuple[float | None, float | None]:
    if ratios is None:
        return None, None
    low, high = (100 * (end - 1) if isfinite(end) else None for end in ratios)
    return low, high
