# SPDX-License-Identifier: GPL-2.0-or-later
"""Who does the long work of a study: one interface, behind which work may be done elsewhere.

A piece of work is a function of a module, which every machine that has kernsmith finds by name,
with frozen values as arguments. What stands in the store it is given, and gives back, by key. So
it does not matter where it runs; `LocalWorkers` do it here, in threads that wait for compilers,
linkers and emulators. Another kind of workers is another class with these two methods.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, as_completed
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from kernsmith.errors import KernsmithError
from kernsmith.threads import threads

Result = TypeVar("Result")

Report = Callable[[int, int], None]
"""Called with how much of a piece of work is done, and how much there is; 0 when unknown."""


def _silent(done: int, total: int) -> None:
    pass


@dataclass(frozen=True)
class Work(Generic[Result]):
    """One call. function: of a module; its first argument is a `Report`."""

    function: Callable[..., Result]
    arguments: tuple[Any, ...]

    def do(self, report: Report = _silent) -> Result:
        """Do it here and now."""
        return self.function(report, *self.arguments)


@dataclass(frozen=True)
class Done(Generic[Result]):
    """A piece of work that is over. place: its number among those that were given together."""

    place: int
    value: Result | None
    error: KernsmithError | None

    def result(self) -> Result:
        """What came out, or the error raised."""
        if self.error is not None:
            raise self.error
        assert self.value is not None
        return self.value


class Workers(Protocol):
    """Do pieces of work."""

    def one(self, work: Work[Result], report: Report) -> Result:
        """Do one piece that takes all there is, such as a build; raises what the work raises."""
        ...

    def each(self, works: Sequence[Work[Result]]) -> Iterator[Done[Result]]:
        """Do all of them, several at once, each given back when it is over.

        When the caller leaves the loop, or Ctrl-C is pressed, what has not ended is ended.
        """
        ...


@dataclass(frozen=True)
class LocalWorkers:
    """This machine. slots: how many pieces at once."""

    slots: int = os.cpu_count() or 1

    def one(self, work: Work[Result], report: Report) -> Result:
        """As `Workers.one`."""
        return work.do(report)

    def each(self, works: Sequence[Work[Result]]) -> Iterator[Done[Result]]:
        """As `Workers.each`."""
        with threads(self.slots) as pool:
            jobs = {pool.submit(work.do): place for place, work in enumerate(works)}
            for job in as_completed(jobs):
                yield _done(jobs[job], job)


def _done(place: int, job: Future[Result]) -> Done[Result]:
    try:
        return Done(place, job.result(), None)
    except KernsmithError as error:
        return Done(place, None, error)
