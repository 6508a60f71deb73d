# SPDX-License-Identifier: GPL-2.0-or-later
"""A study of the ledger as one tidy table, for the statistics. Reads only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Connection, Row, Select, select
from sqlalchemy.engine import make_url
from sqlalchemy.exc import SQLAlchemyError

from kernsmith import paths
from kernsmith.errors import UserError
from kernsmith.ledger.failures import shown
from kernsmith.ledger.opening import open_database
from kernsmith.ledger.schema import METRICS, RUNS, STUDIES, STUDY_TRIALS, TRIALS
from kernsmith.ledger.voids import STANDING


@dataclass(frozen=True)
class MetricRow:
    """One metric of one finished run.

    boot: what it ran in; runs of before boots were recorded booted each by itself.
    run: its number among the runs of this trial's workload in that boot.
    """

    variant: str
    layout: str
    workload: str
    boot: str
    run: int
    block: int
    metric: str
    value: float


@dataclass(frozen=True)
class StudyTable:
    """A study's runs.

    rows: one for each metric of each finished run, in the order of the plan. units: by metric.
    failed: trials whose latest run failed; missing: trials without a run.
    """

    name: str
    digest: str
    text: str
    recorded_at: str
    machines: tuple[str, ...]
    rows: tuple[MetricRow, ...]
    units: dict[str, str]
    failed: int
    missing: int


def read_study_table(which: str | None = None, url: str | None = None) -> StudyTable:
    """A study by its name or the beginning of its digest; without one the latest.

    Raises:
        UserError: no such ledger or study, or several studies fit.
    """
    with reading(url) as connection:
        return _table(connection, _find(connection, which, url or _default_url()))


def _default_url() -> str:
    return f"sqlite:///{paths.ledger()}"


@contextmanager
def reading(url: str | None) -> Iterator[Connection]:
    """A connection to a ledger that is there, to read from.

    Raises:
        UserError: no such ledger, or it cannot be read.
    """
    url = url or _default_url()
    with suppress(SQLAlchemyError):  # what is no URL at all is told when it is opened
        parsed = make_url(url)
        file = parsed.database if parsed.get_backend_name() == "sqlite" else None
        if file and not Path(file).is_file():
            raise UserError(f"there is no ledger {file} yet: run a study first")
    database = open_database(url, create=False)
    try:
        with database.reading() as connection:
            yield connection
    finally:
        database.close()


def _find(connection: Connection, which: str | None, url: str) -> Row[tuple[str, str, str, str]]:
    query = select(STUDIES).order_by(STUDIES.c.recorded_at.desc())
    studies = connection.execute(query).all()
    if not studies:
        raise UserError(f"the ledger {shown(url)} holds no study yet")
    if which is None:
        return studies[0]
    named = [study for study in studies if study.name == which]
    if named:
        return named[0]
    found = [study for study in studies if study.digest.startswith(which)]
    if len(found) == 1:
        return found[0]
    known = ", ".join(f"{study.name} ({study.digest[:8]})" for study in studies[:10])
    problem = "no study is" if not found else f"{len(found)} studies are"
    raise UserError(f"{problem} called {which!r} in the ledger {shown(url)}; it holds {known}")


def _table(connection: Connection, study: Row[tuple[str, str, str, str]]) -> StudyTable:
    trials = connection.execute(
        select(STUDY_TRIALS, TRIALS.c.layout, TRIALS.c.workload, TRIALS.c.machine, TRIALS.c.cpu)
        .join(TRIALS, TRIALS.c.digest == STUDY_TRIALS.c.trial)
        .where(STUDY_TRIALS.c.study == study.digest)
        .order_by(STUDY_TRIALS.c.position)
    ).all()
    runs = _latest_runs(connection, study.digest)
    figures = _figures(connection, study.digest)
    rows = []
    in_boot: Counter[tuple[str, str]] = Counter()
    number: dict[int, int] = {}
    seen = set()
    for trial in trials:
        run = runs.get(trial.trial)
        if run is None or run.status != "ok" or (trial.variant, run.id) in seen:
            continue
        seen.add((trial.variant, run.id))  # at several places of the plan it is one observation
        boot = f"run {run.id}" if run.boot is None else str(run.boot)
        if run.id not in number:
            number[run.id] = in_boot[boot, trial.workload]
            in_boot[boot, trial.workload] += 1
        rows += [
            MetricRow(
                variant=trial.variant,
                layout=trial.layout,
                workload=trial.workload,
                boot=boot,
                run=number[run.id],
                block=trial.block,
                metric=name,
                value=value,
            )
            for name, value, _ in figures.get(run.id, [])
        ]
    states = [runs[trial.trial].status if trial.trial in runs else "" for trial in trials]
    return StudyTable(
        name=study.name,
        digest=study.digest,
        text=study.text,
        recorded_at=study.recorded_at,
        machines=tuple(sorted({f"{trial.machine} ({trial.cpu})" for trial in trials})),
        rows=tuple(rows),
        units={name: unit for each in figures.values() for name, _, unit in each},
        failed=sum(state not in ("", "ok") for state in states),
        missing=states.count(""),
    )


def _trials_of(digest: str) -> Select[tuple[str]]:
    return select(STUDY_TRIALS.c.trial).where(STUDY_TRIALS.c.study == digest)


class _LatestRun(NamedTuple):
    id: int
    trial: str
    status: str
    boot: int | None


def _latest_runs(connection: Connection, digest: str) -> dict[str, _LatestRun]:
    """The latest run of each trial that counts."""
    query = (
        select(RUNS.c.id, RUNS.c.trial, RUNS.c.status, RUNS.c.boot)
        .where(RUNS.c.trial.in_(_trials_of(digest)), STANDING)
        .order_by(RUNS.c.attempt)
    )
    return {run.trial: _LatestRun(*run) for run in connection.execute(query)}


def _figures(connection: Connection, digest: str) -> dict[int, list[tuple[str, float, str]]]:
    """Name, value and unit of the metrics of each run."""
    runs = select(RUNS.c.id).where(RUNS.c.trial.in_(_trials_of(digest)))
    found: dict[int, list[tuple[str, float, str]]] = {}
    for row in connection.execute(select(METRICS).where(METRICS.c.run.in_(runs))):
        found.setdefault(row.run, []).append((row.name, row.value, row.unit))
    return found
