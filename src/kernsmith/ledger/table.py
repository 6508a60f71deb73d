# SPDX-License-Identifier: GPL-2.0-or-later
"""A study of the ledger as one table: its plan, with what came out. Reads only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields, replace
from pathlib import Path

from sqlalchemy import Connection, Row, select
from sqlalchemy.engine import make_url
from sqlalchemy.exc import SQLAlchemyError

from kernsmith import paths
from kernsmith.errors import UserError
from kernsmith.ledger.failures import shown
from kernsmith.ledger.least import with_least
from kernsmith.ledger.ledger import read_runs
from kernsmith.ledger.opening import open_database
from kernsmith.ledger.places import local
from kernsmith.ledger.rows import BuildRow, RunRow, TrialRow
from kernsmith.ledger.schema import BUILDS, STUDIES, STUDY_TRIALS, TRIALS


@dataclass(frozen=True)
class PlannedRow:
    """A place in a study's plan. run: the trial's latest one that counts, if it has any.

    booted: of a replayed trial, the run that booted the same layout, if there is one.
    traced: the run that it was replayed from.
    """

    position: int
    block: int
    variant: str
    trial: TrialRow
    run: RunRow | None
    booted: RunRow | None = None
    traced: RunRow | None = None


@dataclass(frozen=True)
class StudyTable:
    """A study's runs.

    plan: in its order. builds: the latest of each variant that a study of this name had.
    units: by metric that a finished run has.
    missing: how many trials have no run.
    """

    name: str
    digest: str
    text: str
    plan: tuple[PlannedRow, ...]
    builds: tuple[BuildRow, ...]
    units: dict[str, str]
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
    plan = _plan(connection, study.digest)
    done = [row.run for row in plan if row.run is not None and row.run.ok]
    return StudyTable(
        name=study.name,
        digest=study.digest,
        text=study.text,
        plan=plan,
        builds=_builds(connection, study.name),
        units={name: unit for run in done for name, (_, unit) in run.metrics.items()},
        missing=sum(row.run is None for row in plan),
    )


def _plan(connection: Connection, digest: str) -> tuple[PlannedRow, ...]:
    query = (
        select(STUDY_TRIALS.c.position, STUDY_TRIALS.c.block, STUDY_TRIALS.c.variant, TRIALS)
        .join(TRIALS, TRIALS.c.digest == STUDY_TRIALS.c.trial)
        .where(STUDY_TRIALS.c.study == digest)
        .order_by(STUDY_TRIALS.c.position)
    )
    planned = [
        (position, block, variant, TrialRow(*trial))
        for position, block, variant, *trial in connection.execute(query)
    ]
    same = _booted(connection, [trial for *_, trial in planned if trial.replayed])
    runs = read_runs(connection, {*(trial.digest for *_, trial in planned), *same.values()})
    whole = with_least(
        [
            ((variant, trial.layout, trial.workload), trial.replicate, runs.get(trial.digest))
            for _, _, variant, trial in planned
        ]
    )
    traced = read_runs(connection, {run.replayed_from for run in runs.values()} - {""})
    return tuple(
        PlannedRow(
            *row,
            run,
            runs.get(same.get(row[-1].digest, "")),
            traced.get(run.replayed_from) if run else None,
        )
        for row, run in zip(planned, whole, strict=True)
    )


def _booted(connection: Connection, replayed: Sequence[TrialRow]) -> dict[str, str]:
    """By the digests of replayed trials: the trials that boot the same, as far as there are any."""

    def same(trial: TrialRow) -> tuple[object, ...]:
        return trial.kernel, trial.layout, trial.workload, trial.machine, trial.replicate

    found: dict[tuple[object, ...], list[TrialRow]] = {}
    for kernel in {trial.kernel for trial in replayed}:
        for row in connection.execute(select(TRIALS).where(TRIALS.c.kernel == kernel)):
            found.setdefault(same(trial := TrialRow(*row)), []).append(trial)
    return {
        trial.digest: other.digest
        for trial in replayed
        for other in found.get(same(trial), ())
        if other.conditions == trial.booted_conditions
    }


def _builds(connection: Connection, name: str) -> tuple[BuildRow, ...]:
    names = [each.name for each in fields(BuildRow)]
    query = select(*(BUILDS.c[each] for each in names)).where(BUILDS.c.study == name)
    found = [BuildRow(*row) for row in connection.execute(query.order_by(BUILDS.c.id))]
    latest = {build.variant: build for build in found}
    return tuple(replace(each, reason=local(each.reason)) for each in latest.values())
