# SPDX-License-Identifier: GPL-2.0-or-later
"""The database of all trials and runs: append-only, safe against kills and second processes."""

from __future__ import annotations

import getpass
import json
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from hashlib import sha256
from statistics import fmean
from typing import Any

from sqlalchemy import Connection, Row, insert, select

from kernsmith import paths
from kernsmith.errors import UserError
from kernsmith.ledger import measured
from kernsmith.ledger.failures import Clash
from kernsmith.ledger.leases import LEASE_SECONDS, Leases
from kernsmith.ledger.measured import MeasuredRun
from kernsmith.ledger.opening import open_database
from kernsmith.ledger.places import file_of, key_of, local, portable
from kernsmith.ledger.rows import OK, REPLAYED_FROM, BootRow, BuildRow, RunRow, TrialRow, now
from kernsmith.ledger.schema import (
    BOOT_ENDS,
    BOOTS,
    BUILDS,
    METRICS,
    RUNS,
    STUDIES,
    STUDY_TRIALS,
    TRIALS,
    VOIDS,
)
from kernsmith.ledger.voids import STANDING, ListedRun, Selection, find_runs

_CHUNK = 400
_BUILD_KEY = ("study", "variant", "kernel", "status", "reason")
_BOOT_END = ("status", "reason", "wall_seconds")


class Ledger:
    """An open ledger. One object may be used by several threads.

    Everything that reads or writes raises DiskFull where its database has no space left, and
    LedgerFailed when it refuses or cannot be reached.
    """

    def __init__(self, url: str | None = None, *, lease_seconds: float = LEASE_SECONDS) -> None:
        """Open a ledger, and create its tables if it is new.

        url: an SQLAlchemy URL; the default is SQLite in kernsmith's own folder.
        lease_seconds: a trial whose holder on another host is silent for so long is free.

        Raises:
            UserError: no such database, or it cannot be opened.
        """
        self.url = url or f"sqlite:///{paths.ledger()}"
        self._database = open_database(self.url)
        self._leases = Leases(self._database, lease_seconds)

    def close(self) -> None:
        """Give back the trials that are held without a run, and the connections."""
        self._leases.close()
        self._database.close()

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
        with self._database.writing() as connection:
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
        except Clash:
            add()

    def add_trial(self, trial: TrialRow) -> None:
        """Add one trial; nothing happens if it is there."""
        self.add_trials([trial])

    def add_trials(self, trials: Collection[TrialRow]) -> None:
        """Add trials; nothing happens to those that are there."""

        def add() -> None:
            with self._database.writing() as connection:
                self._add_trials(connection, trials)

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
            for digest, trial in sorted(rows.items())  # two processes add in one order: no deadlock
            if digest not in known
        ]
        if new:
            connection.execute(insert(TRIALS), new)

    def _add_order(
        self, connection: Connection, study: str, plan: Sequence[tuple[TrialRow, str, int, int]]
    ) -> None:
        positions = select(STUDY_TRIALS.c.position).where(STUDY_TRIALS.c.study == study)
        known = set(connection.execute(positions).scalars())
        new = [
            {"study": study, "position": i, "trial": t.digest, "variant": name, "block": block}
            for t, name, block, i in plan
            if i not in known
        ]
        if new:
            connection.execute(insert(STUDY_TRIALS), new)

    def claim(self, trial: str) -> int | None:
        """Take a trial for this process: the number of the attempt, or None if it is taken.

        Exactly one living process holds a trial: a claim whose process is gone is taken over. It is
        held, with heartbeats for processes on other hosts, until a run of this attempt is recorded
        or the ledger is closed.
        """
        return self._leases.claim(trial)

    def hold(self, trial: str) -> AbstractContextManager[int | None]:
        """Claim a trial for the time of a block: the attempt, or None if it is taken.

        Example::

            with ledger.hold(trial) as attempt:
                if attempt is not None:
                    ledger.record(run(trial, attempt))

        A block that ends without a run of this attempt gives the trial back at once.
        """
        return self._leases.hold(trial)

    def give_back(self, trial: str, attempt: int) -> None:
        """End a claim without a run: the trial is free at once."""
        self._leases.give_back(trial, attempt)

    def holders(self, trials: Iterable[str]) -> list[str]:
        """Who has claimed each of these trials last: "process 12 on a-host", each once."""
        return self._leases.holders(trials)

    def record(self, run: RunRow) -> None:
        """Add a run with its metrics, in one transaction."""
        fields = {name: value for name, value in vars(run).items() if name != "metrics"}
        fields["provenance"] = portable(dict(run.provenance))
        fields |= {"console": key_of(run.console), "reason": portable(run.reason)}
        with self._database.writing() as connection:
            added = connection.execute(insert(RUNS).values(fields))
            assert added.inserted_primary_key is not None
            key = added.inserted_primary_key[0]
            rows = [
                {"run": key, "name": name, "value": value, "unit": unit}
                for name, (value, unit) in run.metrics.items()
            ]
            if rows:
                connection.execute(insert(METRICS), rows)
        self._leases.ended(run.trial, run.attempt)

    def record_boot(self, boot: BootRow) -> int:
        """Add a boot, with its end if it has ended: the number that its runs refer to."""
        fields = {name: value for name, value in vars(boot).items() if name not in _BOOT_END}
        fields |= {"command": portable(list(boot.command)), "console": key_of(boot.console)}
        with self._database.writing() as connection:
            added = connection.execute(insert(BOOTS).values(fields))
            assert added.inserted_primary_key is not None
            number = int(added.inserted_primary_key[0])
            if boot.wall_seconds is not None:
                end = {name: portable(getattr(boot, name)) for name in _BOOT_END}
                connection.execute(insert(BOOT_ENDS).values(end | {"boot": number}))
        return number

    def end_boot(self, boot: int, status: str, reason: str, wall_seconds: float) -> None:
        """Add the end of a boot that was recorded when it started."""
        end: dict[str, Any] = {"boot": boot, "status": status, "reason": portable(reason)}
        end["wall_seconds"] = wall_seconds
        with self._database.writing() as connection:
            connection.execute(insert(BOOT_ENDS).values(end))

    def boots(self, numbers: Iterable[int]) -> dict[int, BootRow]:
        """These boots, by number."""
        wanted = sorted(set(numbers))
        found: dict[int, BootRow] = {}
        with self._database.reading() as connection:
            for start in range(0, len(wanted), _CHUNK):
                found |= _read_boots(connection, wanted[start : start + _CHUNK])
        return found

    def find_boot(self, session: str) -> int | None:
        """The number of the first boot that was recorded with this session."""
        return measured.find_boot(self._database, session)

    def variant_of(self, kernel: str) -> str | None:
        """How the latest study that built the kernel of this key called its variant."""
        return measured.variant_of(self._database, kernel)

    def earlier_runs(self, cpu: str, workloads: Sequence[str], metric: str) -> list[MeasuredRun]:
        """A metric of all runs of workloads on a computer that ended well and count."""
        return measured.earlier_runs(self._database, cpu, workloads, metric)

    def record_builds(self, builds: Iterable[BuildRow]) -> None:
        """Add what became of variants; what is there already stays as it is."""
        rows = []
        for build in builds:
            fields = vars(build) | {"reason": portable(build.reason)}
            rows.append(fields | {"recorded_at": now(), "digest": _build_digest(fields)})

        def add() -> None:
            with self._database.writing() as connection:
                for row in rows:
                    key = [BUILDS.c[name] == row[name] for name in _BUILD_KEY]
                    if connection.execute(select(BUILDS.c.id).where(*key)).first() is None:
                        connection.execute(insert(BUILDS).values(row))

        self._twice(add)

    def void(self, selection: Selection, reason: str) -> list[ListedRun]:
        """Let runs count no longer: their trials are open again. Those that were voided now.

        Nothing is edited: rows say which runs, why, by whom and when.

        Raises:
            UserError: no reason, nothing selected, or a number that no run has.
        """
        if not reason.strip():
            raise UserError("a run is voided for a reason: give one with --reason")
        if selection.empty:
            raise UserError("name the runs to void, or select them by study, trial, machine or day")
        by = f"{_user()}@{os.uname().nodename}"
        with self._database.writing() as connection:
            found = [run for run in find_runs(connection, selection) if not run.voided]
            row = {"reason": reason.strip(), "by": by, "at": now()}
            if found:
                connection.execute(insert(VOIDS), [row | {"run": run.run} for run in found])
        return [replace(run, voided=reason.strip()) for run in found]

    def runs(self, trials: Iterable[str]) -> dict[str, RunRow]:
        """The latest run that counts of each of these trials that has one."""
        with self._database.reading() as connection:
            return read_runs(connection, trials)

    def typical_seconds(self, machine: str, *, replayed: bool = False) -> dict[str, float]:
        """Mean wall time of finished runs on a machine, by workload, in seconds.

        replayed: of those that are replays in place of those that booted.
        """
        query = (
            select(TRIALS.c.workload, RUNS.c.wall_seconds, RUNS.c.provenance)
            .join(RUNS, RUNS.c.trial == TRIALS.c.digest)
            .where(TRIALS.c.machine == machine, RUNS.c.status == OK, STANDING)
        )
        found: dict[str, list[float]] = {}
        with self._database.reading() as connection:
            for workload, seconds, provenance in connection.execute(query):
                if (REPLAYED_FROM in (provenance or {})) == replayed:
                    found.setdefault(workload, []).append(seconds)
        return {workload: fmean(seconds) for workload, seconds in found.items()}


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user without a name, as in some containers
        return str(os.getuid())


def _build_digest(fields: Mapping[str, Any]) -> str:
    key = json.dumps([fields[name] for name in _BUILD_KEY])
    return sha256(key.encode()).hexdigest()


def _read_boots(connection: Connection, numbers: Sequence[int]) -> dict[int, BootRow]:
    query = (
        select(BOOTS, *(BOOT_ENDS.c[name] for name in _BOOT_END))
        .outerjoin(BOOT_ENDS, BOOT_ENDS.c.boot == BOOTS.c.id)
        .where(BOOTS.c.id.in_(numbers))
        .order_by(BOOTS.c.id)
    )
    found = {}
    for row in connection.execute(query):
        fields = dict(row._mapping)
        if fields["status"] is None:  # it is up, or whoever had it was killed
            fields |= {"status": "", "reason": ""}
        fields |= {"command": tuple(local(fields["command"])), "reason": local(fields["reason"])}
        fields["console"] = file_of(fields["console"])
        number = fields.pop("id")
        found[number] = BootRow(**fields)
    return found


def read_runs(connection: Connection, trials: Iterable[str]) -> dict[str, RunRow]:
    """The latest run that counts of each of these trials that has one."""
    wanted = sorted(set(trials))
    found: dict[str, RunRow] = {}
    for start in range(0, len(wanted), _CHUNK):
        found |= _read_runs(connection, wanted[start : start + _CHUNK])
    return found


def _read_runs(connection: Connection, trials: Sequence[str]) -> dict[str, RunRow]:
    query = select(RUNS).where(RUNS.c.trial.in_(trials), STANDING).order_by(RUNS.c.attempt)
    latest = {row.trial: row for row in connection.execute(query)}
    trial_of = {row.id: trial for trial, row in latest.items()}
    metrics: dict[str, dict[str, tuple[float, str]]] = {trial: {} for trial in latest}
    for metric in connection.execute(select(METRICS).where(METRICS.c.run.in_(list(trial_of)))):
        metrics[trial_of[metric.run]][metric.name] = (metric.value, metric.unit)
    return {trial: _run_row(row, metrics[trial]) for trial, row in latest.items()}


def _run_row(row: Row[Any], metrics: dict[str, tuple[float, str]]) -> RunRow:
    fields = dict(row._mapping)
    del fields["id"]
    fields |= {name: local(fields[name]) for name in ("reason", "provenance")}
    fields["console"] = file_of(fields["console"])
    return RunRow(**fields, metrics=metrics)
