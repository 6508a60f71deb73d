# SPDX-License-Identifier: GPL-2.0-or-later
"""Who does the long work of a study: one interface, behind which work may be done elsewhere.

A piece of work is a function of a module, which every machine that has kernsmith finds by name,
with frozen values as arguments: `engine.making` builds and links, `engine.sessions` boots,
`engine.replay` replays traces. What stands in the store it is given, and gives back, by key: a
path below the store's root travels as its key (`pack`, `unpack`). So it does not matter where it
runs; `LocalWorkers` do it here, in threads that wait for compilers, linkers and emulators. Another
kind of workers is another class with the same two methods.
"""

from __future__ import annotations

import io
import os
import pickle
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any, Generic, Protocol, TypeVar

from kernsmith.errors import KernsmithError
from kernsmith.store import Store, local_store
from kernsmith.threads import first_ended, threads

Result = TypeVar("Result")

# What is done beside a build waits for it where both want a processor, and fills what it leaves.
_NICE_BESIDE = 10

Say = Callable[[object], None]
"""What a piece of work calls, from any thread, with values that it tells before it ends."""


@dataclass(frozen=True)
class Progress:
    """So much of a piece of work is done. total: 0 when unknown."""

    done: int
    total: int


def _silent(value: object) -> None:
    pass


@dataclass(frozen=True)
class Work(Generic[Result]):
    """One call. function: of a module; its first argument is a `Say`."""

    function: Callable[..., Result]
    arguments: tuple[Any, ...]

    def do(self, say: Say = _silent) -> Result:
        """Do it here and now."""
        return self.function(say, *self.arguments)


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
    """Do pieces of work. When an exception, Ctrl-C too, ends a call, it ends what is under way."""

    def one(
        self,
        work: Work[Result],
        say: Say,
        meanwhile: Callable[[Workers], None] | None = None,
    ) -> Result:
        """Do one piece that takes all there is, such as a build; raises what the work raises.

        meanwhile: called, by the calling thread, with workers for what can be done beside it. They
            begin nothing any more when the piece is over; what they have begun is waited for.
        """
        ...

    def each(
        self,
        works: Iterable[Work[Result]],
        take: Callable[[Done[Result]], None],
        *,
        say: Callable[[int, object], None] = lambda place, value: None,
        slots: int | None = None,
    ) -> None:
        """Do all of them, several at once: each is asked for when there is somebody to do it.

        take: called with each that is over, by the calling thread.
        say: called with what the piece with this number tells, by any thread.
        slots: how many at once; None is as many as there are workers.
        """
        ...


@dataclass(frozen=True)
class LocalWorkers:
    """This machine.

    slots: how many pieces at once. nice: what they and their programs add to their niceness.
    """

    slots: int = os.cpu_count() or 1
    nice: int = 0

    def one(
        self,
        work: Work[Result],
        say: Say,
        meanwhile: Callable[[Workers], None] | None = None,
    ) -> Result:
        """As `Workers.one`: a build leaves processors idle where it configures and links."""
        if meanwhile is None:
            return work.do(say)
        over = Event()
        with threads(1) as pool:
            job = pool.submit(work.do, say)
            job.add_done_callback(lambda job: over.set())
            meanwhile(_Beside(max(1, self.slots - 1), _NICE_BESIDE, over))
            first_ended([job])
            return job.result()

    def each(
        self,
        works: Iterable[Work[Result]],
        take: Callable[[Done[Result]], None],
        *,
        say: Callable[[int, object], None] = lambda place, value: None,
        slots: int | None = None,
    ) -> None:
        """As `Workers.each`."""
        most = slots or self.slots
        waiting = enumerate(works)
        under_way: dict[Future[Result], int] = {}
        with threads(most, self.nice) as pool:
            while True:
                while len(under_way) < most and (following := next(waiting, None)) is not None:
                    place, work = following
                    under_way[pool.submit(work.do, partial(say, place))] = place
                if not under_way:
                    return
                for job in first_ended(under_way):
                    take(_done(under_way.pop(job), job))


@dataclass(frozen=True)
class _Beside(LocalWorkers):
    """What another piece of work leaves of this machine. over: set when that has ended."""

    over: Event = field(default_factory=Event)

    def each(
        self,
        works: Iterable[Work[Result]],
        take: Callable[[Done[Result]], None],
        *,
        say: Callable[[int, object], None] = lambda place, value: None,
        slots: int | None = None,
    ) -> None:
        """As `Workers.each`, as long as the other piece is not over."""
        most = min(slots or self.slots, self.slots)
        super().each(_until(self.over, works), take, say=say, slots=most)


def _until(over: Event, works: Iterable[Work[Result]]) -> Iterator[Work[Result]]:
    waiting = iter(works)
    while not over.is_set() and (work := next(waiting, None)) is not None:
        yield work


def _done(place: int, job: Future[Result]) -> Done[Result]:
    try:
        return Done(place, job.result(), None)
    except KernsmithError as error:
        return Done(place, None, error)


def pack(value: object, store: Store | None = None) -> bytes:
    """A piece of work, its result or what it says, as bytes for another machine.

    store: the one that paths in it lie in; by default this machine's.
    """
    packed = io.BytesIO()
    _Packer(packed, store or local_store()).dump(value)
    return packed.getvalue()


def unpack(packed: bytes, store: Store | None = None) -> Any:
    """What was packed, with the paths of this store. Only for bytes of kernsmith's own workers."""
    return _Unpacker(io.BytesIO(packed), store or local_store()).load()


class _Packer(pickle.Pickler):
    def __init__(self, file: io.BytesIO, store: Store) -> None:
        super().__init__(file)
        self._store = store

    def persistent_id(self, value: object) -> str | None:
        if isinstance(value, Path) and value != self._store.root:
            return self._store.key(value) if value.is_relative_to(self._store.root) else None
        return None


class _Unpacker(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, store: Store) -> None:
        super().__init__(file)
        self._store = store

    def persistent_load(self, key: str) -> Path:
        return self._store.path(key)
