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

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from threading import Event, Thread

from sqlalchemy import Connection, func, insert, select

from kernsmith.errors import KernsmithError
from kernsmith.ledger.failures import Clash
from kernsmith.ledger.opening import Database
from kernsmith.ledger.owner import Owner
from kernsmith.ledger.schema import CLAIMS, HEARTBEATS, RUNS

LEASE_SECONDS = 120.0
_BEATS = 6


@dataclass(frozen=True)
class Leases:
    """The leases of one process. seconds: after so long without a heartbeat one has lapsed."""

    database: Database
    seconds: float = LEASE_SECONDS

    def claim(self, trial: str) -> int | None:
        """Take a trial without heartbeats: the number of the attempt, or None if it is taken."""
        try:
            with self.database.writing() as connection:
                attempt = self._next_attempt(connection, trial)
                if attempt is not None:
                    row = {"trial": trial, "attempt": attempt, "owner": str(Owner.current())}
                    row["taken_at"] = _clock(connection).isoformat(timespec="milliseconds")
                    connection.execute(insert(CLAIMS).values(row))
        except Clash:  # another process was faster
            return None
        return attempt

    @contextmanager
    def hold(self, trial: str) -> Iterator[int | None]:
        """Take a trial and keep it while the block runs; without a run it is free afterwards."""
        attempt = self.claim(trial)
        if attempt is None:
            yield None
            return
        numbers = count(1)

        def beat(*, last: bool = False) -> None:
            with self.database.writing() as connection:
                if last and _has_run(connection, trial, attempt):
                    return
                row = {"trial": trial, "attempt": attempt, "number": next(numbers), "last": last}
                row["at"] = _clock(connection).isoformat(timespec="milliseconds")
                connection.execute(insert(HEARTBEATS).values(row))

        try:
            with _beating(beat, self.seconds / _BEATS):
                yield attempt
        finally:
            with suppress(KernsmithError):  # what cannot be given back lapses
                beat(last=True)

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
        lives = Owner.parse(claim.owner).lives()
        if lives is None:  # it cannot be seen from here
            seen = datetime.fromisoformat(claim.taken_at if beat is None else beat.at)
            lives = _clock(connection) - seen < timedelta(seconds=self.seconds)
        return None if lives else following


def _has_run(connection: Connection, trial: str, attempt: int) -> bool:
    run = select(RUNS.c.id).where(RUNS.c.trial == trial, RUNS.c.attempt == attempt)
    return connection.execute(run).first() is not None


def _clock(connection: Connection) -> datetime:
    """Now, in UTC: the server's clock, where there is a server."""
    if connection.dialect.name == "postgresql":
        told = connection.execute(select(func.clock_timestamp())).scalar_one()
        assert isinstance(told, datetime)
        return told.astimezone(UTC)
    return datetime.now(UTC)


@contextmanager
def _beating(beat: Callable[[], None], seconds: float) -> Iterator[None]:
    over = Event()

    def go_on() -> None:
        while not over.wait(seconds):
            with suppress(KernsmithError):  # the next one may reach the database again
                beat()

    thread = Thread(target=go_on, name="heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
