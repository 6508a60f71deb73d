# SPDX-License-Identifier: GPL-2.0-or-later
"""The one way in which the engine boots: tasks are done in a machine's sessions, as many at once as
it has slots."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar
from uuid import uuid4

from kernsmith.engine.workers import Done, LocalWorkers, Say, Work, Workers
from kernsmith.ledger import now
from kernsmith.machine import Boot, Job, Machine, Outcome
from kernsmith.machine.protocol import Turns

Task = TypeVar("Task")


@dataclass(frozen=True)
class Visit(Generic[Task]):
    """Tasks of one image, in their order; of a block, where its images take turns.

    image: of all tasks, or of the first. folder: for what belongs to the session.
    name: of the session; tells it apart from all others, in all ledgers.
    """

    image: Path
    folder: Path
    tasks: tuple[Task, ...]
    name: str = field(default_factory=lambda: uuid4().hex)


@dataclass(frozen=True)
class Stay:
    """A session as a piece of work: all that it needs to know."""

    machine: Machine
    image: Path
    folder: Path
    jobs: tuple[Job, ...]


@dataclass(frozen=True)
class Ran:
    """The job with this number in its session has ended. started_at: UTC, ISO 8601."""

    number: int
    outcome: Outcome
    started_at: str


def stay(say: Say, asked: Stay) -> tuple[Boot, ...]:
    """Open a session, do its jobs, tell each as `Ran` when it ends, and return all boots."""
    with asked.machine.open(asked.image, asked.folder) as session:
        if asked.machine.together:
            assert isinstance(session, Turns)
            started = now()
            for number, outcome in enumerate(session.run_together(asked.jobs)):
                say(Ran(number, outcome, started))
        else:
            for number, job in enumerate(asked.jobs):
                started = now()
                say(Ran(number, session.run(job), started))
    return tuple(session.boots)


def in_sessions(
    machine: Machine,
    visits: Sequence[Visit[Task]],
    begin: Callable[[Task], Job | None],
    ran: Callable[[Visit[Task], Task, Ran], None],
    closed: Callable[[Visit[Task], Sequence[Boot]], None] = lambda visit, boots: None,
    workers: Workers | None = None,
) -> None:
    """Do all tasks: visits begin in their order, the tasks of one follow each other.

    Where a machine keeps runs apart, each task is a visit of its own. An exception ends all
    sessions at once, and so does Ctrl-C.

    begin: called when a visit's turn has come, with each of its tasks: what is to be run; None when
        nothing is. A visit with nothing to run is not made.
    ran: called with each run when it ends, by any thread.
    closed: called with the boots of a visit that is over, by the calling thread.
    """
    if machine.apart:
        visits = [Visit(v.image, v.folder, (task,)) for v in visits for task in v.tasks]
    begun: list[tuple[Visit[Task], list[Task]]] = []

    def works() -> Iterator[Work[tuple[Boot, ...]]]:
        for visit in visits:
            jobs = [(task, job) for task in visit.tasks if (job := begin(task))]
            if jobs:
                begun.append((visit, [task for task, _ in jobs]))
                folder = visit.folder / visit.name
                asked = Stay(machine, visit.image, folder, tuple(job for _, job in jobs))
                yield Work(stay, (asked,))

    def say(place: int, value: object) -> None:
        assert isinstance(value, Ran)
        visit, tasks = begun[place]
        ran(visit, tasks[value.number], value)

    def take(done: Done[tuple[Boot, ...]]) -> None:
        closed(begun[done.place][0], done.result())

    (workers or LocalWorkers()).each(works(), take, say=say, slots=machine.slots)
