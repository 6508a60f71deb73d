# SPDX-License-Identifier: GPL-2.0-or-later
"""The one way in which the engine boots: tasks are done in a machine's sessions, as many at once as
it has slots."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import as_completed
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar
from uuid import uuid4

from kernsmith.machine import Boot, Job, Machine, Outcome, Session
from kernsmith.threads import threads

Task = TypeVar("Task")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Visit(Generic[Task]):
    """Tasks of one image, in their order. folder: for what belongs to the session."""

    image: Path
    folder: Path
    tasks: tuple[Task, ...]


@dataclass
class LazySession:
    """A session that is opened by its first run: tasks that another process has done need none.

    name: tells sessions apart, in all ledgers.
    """

    machine: Machine
    image: Path
    folder: Path
    name: str = field(default_factory=lambda: uuid4().hex)
    _open: Session | None = None
    _stack: ExitStack = field(default_factory=ExitStack)

    def run(self, job: Job) -> Outcome:
        """As `Session.run`."""
        if self._open is None:
            opened = self.machine.open(self.image, self.folder / self.name)
            self._open = self._stack.enter_context(opened)
        return self._open.run(job)

    @property
    def boots(self) -> Sequence[Boot]:
        """As `Session.boots`."""
        return self._open.boots if self._open else ()

    def close(self) -> None:
        """End the session, if it was opened."""
        self._stack.close()


def in_sessions(
    machine: Machine,
    visits: Sequence[Visit[Task]],
    do: Callable[[LazySession, Task], Result],
    each: Callable[[Task, Result], None],
    closed: Callable[[LazySession], None] = lambda session: None,
) -> None:
    """Do all tasks: visits begin in their order, the tasks of one follow each other.

    Where a machine keeps runs apart, each task is a visit of its own. An exception ends all
    sessions at once, and so does Ctrl-C.

    do: one task, in a thread of the session's. each: called with its result by the calling thread.
    closed: called when a session is over and its boots have their ends.
    """
    if machine.apart:
        visits = [Visit(v.image, v.folder, (task,)) for v in visits for task in v.tasks]

    def visit(one: Visit[Task]) -> list[Result]:
        session = LazySession(machine, one.image, one.folder)
        try:
            return [do(session, task) for task in one.tasks]
        finally:
            session.close()
            closed(session)

    with threads(machine.slots) as pool:
        jobs = {pool.submit(visit, one): one for one in visits}
        for job in as_completed(jobs):
            for task, result in zip(jobs[job].tasks, job.result(), strict=True):
                each(task, result)
