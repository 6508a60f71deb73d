# SPDX-License-Identifier: GPL-2.0-or-later
"""The database of all trials and runs: append-only, safe against kills and second processes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import (
    Connection,
    Engine,
    create_engine,
    event,
    func,
    insert,
    select,
)
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError, IntegrityError, ProgrammingError, SQLAlchemyError

from kernsmith import paths
from kernsmith.errors import DiskFull, UserError
from kernsmith.ledger.owner import Owner
from kernsmith.ledger.schema import (
    BUILDS,
    CLAIMS,
    METADATA,
    METRICS,
    RUNS,
    STUDIES,
    STUDY_TRIALS,
    TRIALS,
)

OK = "ok"
_CHUNK = 400
_BUILD_KEY = ("study", "variant", "kernel", "status", "reason")


@dataclass(frozen=True)
class TrialRow:
    """A trial as the ledger knows it: by the content of everything that its outcome depends on.

    conditions: JSON-able; the machine's fingerprint, the workload's digest and its rounds.
    """

    digest: str
    kernel: str
    variant: str
    layout: str
    workload: str
    machine: str
    cpu: str
    replicate: int
    conditions: Mapping[str, Any] = field(compare=False)


@dataclass(frozen=True)
class RunRow:
    """The outcome of one trial. `metrics` maps a name to (value, unit)."""

    trial: str
    attempt: int
    status: str
    reason: str
    console: str
    started_at: str
    wall_seconds: float
    metrics: Mapping[str, tuple[float, str]]
    provenance: Mapping[str, Any] = field(default_factory=dict, compare=False)

    @property
    def ok(self) -> bool:
        """Whether the workload ended as it should."""
        return self.status == OK


@dataclass(frozen=True)
class BuildRow:
    """What became of one variant of a study before it could run.

    kernel: its content address; empty when there is no kernel.
    status: `ok`, `failed` or `refused`. reason: why, for the last two.
    objects, seconds: objects and time of the build that made the kernel; compiled: how many of all
        that it compiled (tools and boot code, too) were not in the compile cache.
    text_bytes: size of the kernel's code.
    """

    study: str
    variant: str
    kernel: str
    status: str
    reason: str
    compiler: str
    linker: str
    objects: int | None = None
    compiled: int | None = None
    seconds: float | None = None
    text_bytes: int | None = None


class Ledger:
    """An open ledger. One object may be used by several threads."""

    def __init__(self, url: str | None = None) -> None:
        """Open a ledger, and create its tables if it is new.

        url: an SQLAlchemy URL; the default is SQLite in kernsmith's own folder.

        Raises:
            UserError: no such database, or it cannot be opened.
        """
        self.url = url or f"sqlite:///{paths.ledger()}"
        self._engine = _open(self.url)
        self._owner = str(Owner.current())

    def close(self) -> None:
        """Give the connections back."""
        self._engine.dispose()

    def record_study(
        self, digest: str, name: str, text: str, plan: Sequence[tuple[TrialRow, str, int, int]]
    ) -> None:
        """Add a study and its trials in their order; what is there already stays as it is.

        plan: trials, each with the name of its variant in this study, block, and position.
        """
        self._twice(lambda: self._record_study(digest, name, text, plan))

    def _record_study(
        self, digest: str, name: str, text: str, plan: Sequence[tuple[TrialRow, str, int, int]]
    ) -> None:
        with self._write() as connection:
            known = select(STUDIES.c.digest).where(STUDIES.c.digest == digest)
            if connection.execute(known).first() is None:
                values = {"digest": digest, "name": name, "text": text, "recorded_at": now()}
                connection.execute(insert(STUDIES).values(values))
            self._add_trials(connection, [trial for trial, *_ in plan])
            self._add_order(connection, digest, plan)

    @staticmethod
    def _twice(add: Callable[[], None]) -> None:
        """Add rows; when another process adds the same ones meanwhile, look again.

        SQLite lets only one process look and add; PostgreSQL refuses the slower one.
        """
        try:
            add()
        except IntegrityError:
            add()

    def add_trial(self, trial: TrialRow) -> None:
        """Add one trial; nothing happens if it is there."""

        def add() -> None:
            with self._write() as connection:
                self._add_trials(connection, [trial])

        self._twice(add)

    def _add_trials(self, connection: Connection, trials: Iterable[TrialRow]) -> None:
        rows = {trial.digest: trial for trial in trials}
        known: set[str] = set()
        digests = sorted(rows)
        for start in range(0, len(digests), _CHUNK):
            some = TRIALS.c.digest.in_(digests[start : start + _CHUNK])
            known.update(connection.execute(select(TRIALS.c.digest).where(some)).scalars())
        new = [
            {**vars(trial), "conditions": dict(trial.conditions)}
            for digest, trial in rows.items()
            if digest not in known
        ]
        if new:
            connection.execute(insert(TRIALS), new)

    def _add_order(
        self, connection: Connection, study: str, plan: Sequence[tuple[TrialRow, str, int, int]]
    ) -> None:
        there = select(STUDY_TRIALS.c.position).where(STUDY_TRIALS.c.study == study)
        known = set(connection.execute(there).scalars())
        new = [
            {"study": study, "position": i, "trial": t.digest, "variant": name, "block": block}
            for t, name, block, i in plan
            if i not in known
        ]
        if new:
            connection.execute(insert(STUDY_TRIALS), new)

    def claim(self, trial: str) -> int | None:
        """Take a trial for this process: the number of the attempt, or None if it is taken.

        A claim whose process is gone is taken over; so exactly one living process holds a trial.
        """
        latest = (
            select(CLAIMS.c.attempt, CLAIMS.c.owner, CLAIMS.c.taken_at)
            .where(CLAIMS.c.trial == trial)
            .order_by(CLAIMS.c.attempt.desc())
            .limit(1)
        )
        with self._write() as connection:
            last = connection.execute(latest).first()
            if last is not None and self._held(connection, trial, last):
                return None
            attempt = 1 if last is None else last.attempt + 1
            row = {"trial": trial, "attempt": attempt, "owner": self._owner, "taken_at": now()}
            try:
                connection.execute(insert(CLAIMS).values(row))
            except IntegrityError:  # another process was faster
                return None
        return attempt

    def _held(self, connection: Connection, trial: str, claim: Any) -> bool:
        done = select(RUNS.c.id).where(RUNS.c.trial == trial, RUNS.c.attempt == claim.attempt)
        if connection.execute(done).first() is not None:
            return False
        return Owner.parse(claim.owner).lives(claim.taken_at)

    def record(self, run: RunRow) -> None:
        """Add a run with its metrics, in one transaction."""
        fields = {name: value for name, value in vars(run).items() if name != "metrics"}
        fields["provenance"] = dict(run.provenance)
        with self._write() as connection:
            added = connection.execute(insert(RUNS).values(fields))
            assert added.inserted_primary_key is not None
            key = added.inserted_primary_key[0]
            rows = [
                {"run": key, "name": name, "value": value, "unit": unit}
                for name, (value, unit) in run.metrics.items()
            ]
            if rows:
                connection.execute(insert(METRICS), rows)

    def record_builds(self, builds: Iterable[BuildRow]) -> None:
        """Add what became of variants; what is there already stays as it is."""
        rows = [vars(build) | {"recorded_at": now()} for build in builds]

        def add() -> None:
            with self._write() as connection:
                for row in rows:
                    key = [BUILDS.c[name] == row[name] for name in _BUILD_KEY]
                    if connection.execute(select(BUILDS.c.id).where(*key)).first() is None:
                        connection.execute(insert(BUILDS).values(row))

        self._twice(add)

    def runs(self, trials: Iterable[str]) -> dict[str, RunRow]:
        """The latest run of each of these trials that has one."""
        wanted = sorted(set(trials))
        found: dict[str, RunRow] = {}
        with self._engine.connect() as connection:
            for start in range(0, len(wanted), _CHUNK):
                found |= _read_runs(connection, wanted[start : start + _CHUNK])
        return found

    def typical_seconds(self, machine: str) -> dict[str, float]:
        """Mean wall time of finished runs on a machine, by workload, in seconds."""
        query = (
            select(TRIALS.c.workload, func.avg(RUNS.c.wall_seconds))
            .join(RUNS, RUNS.c.trial == TRIALS.c.digest)
            .where(TRIALS.c.machine == machine, RUNS.c.status == OK)
            .group_by(TRIALS.c.workload)
        )
        with self._engine.connect() as connection:
            return {workload: float(mean) for workload, mean in connection.execute(query)}

    @contextmanager
    def _write(self) -> Iterator[Connection]:
        try:
            with self._engine.begin() as connection:
                yield connection
        except DBAPIError as error:
            if "full" in str(error.orig):
                raise DiskFull(self.url) from None
            raise


def _read_runs(connection: Connection, trials: Sequence[str]) -> dict[str, RunRow]:
    query = select(RUNS).where(RUNS.c.trial.in_(trials)).order_by(RUNS.c.attempt)
    latest = {row.trial: row for row in connection.execute(query)}
    trial_of = {row.id: trial for trial, row in latest.items()}
    metrics: dict[str, dict[str, tuple[float, str]]] = {trial: {} for trial in latest}
    for metric in connection.execute(select(METRICS).where(METRICS.c.run.in_(list(trial_of)))):
        metrics[trial_of[metric.run]][metric.name] = (metric.value, metric.unit)
    return {
        trial: RunRow(
            **{name: getattr(row, name) for name in row._fields if name != "id"},
            metrics=metrics[trial],
        )
        for trial, row in latest.items()
    }


def now() -> str:
    """This moment in UTC, ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _open(url: str) -> Engine:
    try:
        parsed = make_url(url)
        if parsed.get_backend_name() == "sqlite" and parsed.database:
            Path(parsed.database).parent.mkdir(parents=True, exist_ok=True)
        engine = create_engine(parsed)
        if parsed.get_backend_name() == "sqlite":
            event.listen(engine, "connect", _tune_sqlite)
            event.listen(engine, "begin", _begin_immediate)
        _create_tables(engine)
    except (SQLAlchemyError, OSError, ModuleNotFoundError) as error:
        reason = str(error).splitlines()[0]
        raise UserError(f"cannot open the ledger {url}: {reason}") from None
    return engine


def _create_tables(engine: Engine) -> None:
    try:
        METADATA.create_all(engine)
    except (IntegrityError, ProgrammingError):  # another process is creating them
        METADATA.create_all(engine)


def _tune_sqlite(connection: Any, record: Any) -> None:
    # The driver must not open transactions by itself: `begin immediate` below takes the write
    # lock at once, so that two processes wait for each other instead of failing half-way.
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute("pragma busy_timeout = 60000")
    cursor.execute("pragma journal_mode = wal")
    cursor.execute("pragma synchronous = normal")
    cursor.execute("pragma foreign_keys = on")
    cursor.close()


def _begin_immediate(connection: Connection) -> None:
    connection.exec_driver_sql("begin immediate")
