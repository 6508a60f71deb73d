# SPDX-License-Identifier: GPL-2.0-or-later
"""Leases: who runs a trial now, shown by signs of life, and when another one may take it over.

A claim is a lease. Its holder adds a heartbeat six times in every lease's length; when none came
for that long, the lease has lapsed and the next attempt is anybody's. On the holder's own host one
need not wait: a process that is gone frees its trials at once. All times are those of the database
(PostgreSQL: the server's clock), so that hosts' clocks need not agree.

A host that is cut off from the database for longer than a lease, and comes back, may end with a
second run of a trial that another one has taken over: both are recorded, the later attempt counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from math import inf
from threading import Event, Lock, Thread

from sqlalchemy import Connection, func, insert, select

from kernsmith.errors import KernsmithError
from kernsmith.ledger.failures import Clash
from kernsmith.ledger.opening import Database
from kernsmith.ledger.owner import Owner
from kernsmith.ledger.schema import CLAIMS, HEARTBEATS, RUNS

LEASE_SECONDS = 120.0
_BEATS = 6


class Leases:
    """The leases of one process; a thread adds their heartbeats until there is a run, or the end.

    seconds: after so long without a heartbeat a lease has lapsed.
    """

    def __init__(self, database: Database, seconds: float = LEASE_SECONDS) -> None:
        self._database = database
        self._seconds = seconds
        self._lock = Lock()
        self._beats: dict[tuple[str, int], int] = {}
        self._over = Event()
        self._thread: Thread | None = None

    def claim(self, trial: str) -> int | None:
        """Take a trial: the number of the attempt, or None if it is taken.

        Who is interrupted here, be it behind the commit, gives it back when he closes.
        """
        attempt: int | None = None
        try:
            with self._database.writing() as connection:
                attempt = self._next_attempt(connection, trial)
                if attempt is not None:
                    row = {"trial": trial, "attempt": attempt, "owner": str(Owner.current())}
                    row["taken_at"] = _clock(connection).isoformat(timespec="milliseconds")
                    connection.execute(insert(CLAIMS).values(row))
            if attempt is not None:
                self._keep(trial, attempt)
        except Clash:  # another process was faster
            return None
        except BaseException:
            if attempt is not None:
                self._find(trial, attempt)
            raise
        return attempt

    @contextmanager
    def hold(self, trial: str) -> Iterator[int | None]:
        """Take a trial while the block runs; without a run it is free afterwards."""
        attempt = self.claim(trial)
        try:
            yield attempt
        finally:
            if attempt is not None:
                self.give_back(trial, attempt)

    def holders(self, trials: Iterable[str]) -> list[str]:
        """Who has claimed each of these trials last, in words, each once; a claim that is damaged
        names nobody."""
        found: dict[str, None] = {}
        with self._database.reading() as connection:
            for trial in trials:
                owner = connection.execute(
                    select(CLAIMS.c.owner)
                    .where(CLAIMS.c.trial == trial)
                    .order_by(CLAIMS.c.attempt.desc())
                    .limit(1)
                ).scalar()
                if owner is not None and (known := Owner.parse(owner)):
                    found[known.words] = None
        return list(found)

    def ended(self, trial: str, attempt: int) -> None:
        """A run is recorded: it says by itself that the lease is over."""
        with self._lock:
            self._beats.pop((trial, attempt), None)

    def give_back(self, trial: str, attempt: int) -> None:
        """End a lease without a run; nothing happens if it has ended."""
        with self._lock:
            number = self._beats.pop((trial, attempt), None)
        if number is not None:
            with suppress(KernsmithError):  # what cannot be given back lapses
                self._write({(trial, attempt): number + 1}, last=True)

    def close(self) -> None:
        """Give back all that is held."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        for trial, attempt in list(self._beats):
            self.give_back(trial, attempt)

    def _keep(self, trial: str, attempt: int) -> None:
        with self._lock:
            self._beats[trial, attempt] = 0
            if self._thread is None:
                self._over = Event()
                self._thread = Thread(target=self._go_on, name="heartbeat", daemon=True)
                self._thread.start()

    def _find(self, trial: str, attempt: int) -> None:
        """Hold a claim if it is there, and this process's."""
        mine = select(CLAIMS.c.trial).where(
            CLAIMS.c.trial == trial,
            CLAIMS.c.attempt == attempt,
            CLAIMS.c.owner == str(Owner.current()),
        )
        with suppress(KernsmithError), self._database.reading() as connection:
            if connection.execute(mine).first() is not None:
                with self._lock:
                    self._beats.setdefault((trial, attempt), 0)

    def _go_on(self) -> None:
        over = self._over
        while not over.wait(self._seconds / _BEATS):
            with self._lock:
                for lease in self._beats:
                    self._beats[lease] += 1
                due = dict(self._beats)
            if due:
                with suppress(KernsmithError):  # the next one may reach the database again
                    self._write(due, last=False)

    def _write(self, beats: Mapping[tuple[str, int], int], *, last: bool) -> None:
        with self._database.writing() as connection:
            common = {"at": _clock(connection).isoformat(timespec="milliseconds"), "last": last}
            rows = [
                common | {"trial": trial, "attempt": attempt, "number": number}
                for (trial, attempt), number in beats.items()
            ]
            connection.execute(insert(HEARTBEATS), rows)

    def _next_attempt(self, connection: Connection, trial: str) -> int | None:
        """The number that a new claim would have; None while the last one stands."""
        claim = connection.execute(
            select(CLAIMS.c.attempt, CLAIMS.c.owner, CLAIMS.c.taken_at)
            .where(CLAIMS.c.trial == trial)
            .order_by(CLAIMS.c.attempt.desc())
            .limit(1)
        ).first()
        if claim is None:
            return 1
        following = int(claim.attempt) + 1
        if _has_run(connection, trial, claim.attempt):
            return following
        beat = connection.execute(
            select(HEARTBEATS.c.at, HEARTBEATS.c.last)
            .where(HEARTBEATS.c.trial == trial, HEARTBEATS.c.attempt == claim.attempt)
            .order_by(HEARTBEATS.c.number.desc())
            .limit(1)
        ).first()
        if beat is not None and beat.last:
            return following
        owner = Owner.parse(claim.owner)
        lives = owner.lives() if owner else None
        if lives is None:  # it cannot be seen from here
            seen = claim.taken_at if beat is None else beat.at
            lives = _apart(seen, _clock(connection)) < self._seconds
        return None if lives else following


def _apart(seen: str, now: datetime) -> float:
    """Seconds between a sign of life and now. One from the future, of a clock that was wrong, is as
    far away as one from the past; one that is no time is as far as can be."""
    try:
        return abs((now - datetime.fromisoformat(seen)).total_seconds())
    except (ValueError, TypeError):
        return inf


def _has_run(connection: Connection, trial: str, attempt: int) -> bool:
    run = select(RUNS.c.id).where(RUNS.c.trial == trial, RUNS.c.attempt == attempt)
    return connection.execute(run).first() is not None


def _clock(connection: Connection) -> datetime:
    """Now, in UTC: the server's clock, where there is a server."""
    if connection.dialect.name == "postgresql":
        moment = connection.execute(select(func.clock_timestamp())).scalar_one()
        assert isinstance(moment, datetime)
        return moment.astimezone(UTC)
    return datetime.now(UTC)
