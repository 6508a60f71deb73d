# SPDX-License-Identifier: GPL-2.0-or-later
"""Which runs count: those that no row of `voids` names. And the list to choose them from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from sqlalchemy import ColumnElement, Connection, func, select

from kernsmith.errors import UserError
from kernsmith.ledger.rows import REPLAYED, STATUSES
from kernsmith.ledger.schema import RUNS, STUDIES, STUDY_TRIALS, TRIALS, VOIDS

STANDING: ColumnElement[bool] = RUNS.c.id.not_in(select(VOIDS.c.run))
"""The condition that a run counts."""

_MOST_NUMBERS = 10_000
# Of the integers of databases.
_LARGEST = (1 << 63) - 1
_DAY_LETTERS = len("2026-12-31")


@dataclass(frozen=True)
class Selection:
    """Which runs; what is empty selects nothing and excludes nothing.

    numbers: of the runs themselves. study: its name, or the beginning of its digest.
    trial: the beginning of a trial's digest. since, until: days in UTC, the last one included.
    """

    numbers: Sequence[int] = ()
    study: str = ""
    trial: str = ""
    variant: str = ""
    workload: str = ""
    machine: str = ""
    status: str = ""
    since: str = ""
    until: str = ""

    def __post_init__(self) -> None:
        for name in ("since", "until"):
            day = getattr(self, name)
            try:
                if day:
                    date.fromisoformat(day)
            except ValueError:
                raise UserError(f"--{name} is a day as in 2026-12-31, not {day!r}") from None
        if self.status and self.status not in STATUSES:
            raise UserError(f"no run ends as {self.status!r}: allowed are {', '.join(STATUSES)}")
        if len(self.numbers) > _MOST_NUMBERS:
            raise UserError(f"name at most {_MOST_NUMBERS} runs at once")

    @property
    def empty(self) -> bool:
        """Whether nothing is said, which means all runs."""
        return self == Selection()


@dataclass(frozen=True)
class ListedRun:
    """A run with what it was a run of. voided: why it counts no longer; empty when it counts.

    replayed: the layout was not booted but replayed from a trace.
    """

    run: int
    trial: str
    variant: str
    layout: str
    workload: str
    machine: str
    cpu: str
    status: str
    started_at: str
    boot: int | None
    voided: str
    replayed: bool


def find_runs(connection: Connection, selection: Selection) -> list[ListedRun]:
    """The runs that fit, voided ones among them, in the order in which they were recorded.

    Raises:
        UserError: there is no run with one of the numbers.
    """
    if unknown := set(selection.numbers) - _known(connection, selection.numbers):
        listed = ", ".join(str(number) for number in sorted(unknown)[:10])
        raise UserError(f"the ledger has no run {listed}; `kernsmith ledger runs` lists them")
    query = (
        select(
            RUNS.c.id.label("run"),
            *(TRIALS.c[name] for name in ("variant", "layout", "workload", "machine", "cpu")),
            *(RUNS.c[name] for name in ("trial", "status", "started_at", "boot")),
            TRIALS.c.conditions,
        )
        .join(TRIALS, TRIALS.c.digest == RUNS.c.trial)
        .where(*_conditions(selection))
        .order_by(RUNS.c.id)
    )
    # The first word on a run is why it does not count; later ones change nothing.
    voids = connection.execute(select(VOIDS.c.run, VOIDS.c.reason).order_by(VOIDS.c.id.desc()))
    why = {void.run: void.reason for void in voids}
    found = []
    for row in connection.execute(query):
        fields = dict(row._mapping)
        replayed = REPLAYED in fields.pop("conditions")
        found.append(ListedRun(**fields, voided=why.get(row.run, ""), replayed=replayed))
    return found


def _known(connection: Connection, numbers: Sequence[int]) -> set[int]:
    fit = [number for number in numbers if abs(number) <= _LARGEST]
    return set(connection.execute(select(RUNS.c.id).where(RUNS.c.id.in_(fit))).scalars())


def _conditions(selection: Selection) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = [
        TRIALS.c[name] == value
        for name in ("variant", "workload", "machine")
        if (value := getattr(selection, name))
    ]
    if selection.numbers:
        conditions.append(RUNS.c.id.in_(selection.numbers))
    if selection.trial:
        conditions.append(RUNS.c.trial.startswith(selection.trial, autoescape=True))
    if selection.status:
        conditions.append(RUNS.c.status == selection.status)
    if selection.study:
        meant = (STUDIES.c.name == selection.study) | STUDIES.c.digest.startswith(
            selection.study, autoescape=True
        )
        of_study = select(STUDY_TRIALS.c.trial).join(STUDIES).where(meant)
        conditions.append(RUNS.c.trial.in_(of_study))
    # Times are ISO 8601 in UTC, which sort as text; days may be written in another way (20261231).
    day = func.substr(RUNS.c.started_at, 1, _DAY_LETTERS)
    if selection.since:
        conditions.append(day >= date.fromisoformat(selection.since).isoformat())
    if selection.until:
        conditions.append(day <= date.fromisoformat(selection.until).isoformat())
    return conditions
