# SPDX-License-Identifier: GPL-2.0-or-later
"""The piece of work that tells what layouts cost: a replay of traces, which are addressed by key.

Layouts, the CPU model's digest and the keys of a kernel and its traces go in, figures come out. Who
replays reads the traces from the store once and keeps them for the next piece.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from threading import Lock
from weakref import WeakValueDictionary

from kernsmith._native import cpu_model_check
from kernsmith.engine.workers import Done, Progress, Say, Work, Workers
from kernsmith.errors import UserError
from kernsmith.kernel.artifact import load_kernel
from kernsmith.kernel.link_map import input_map, link_map
from kernsmith.layout import Arrangement, Text, TracedText, TraceFile, read_link_map
from kernsmith.layout.traced import Figures

# Layouts that are replayed together, so that a trace is decoded once for all of them: `BATCH` of
# native/python/src/layout.rs.
BATCH = 8

# A model in time costs eight times what a sum of penalties does.
_EVERY_IN_TIME = 8


def every_of(asked: int, cpu: Path, workloads: int) -> int:
    """One of how many windows of a trace is replayed.

    What windows leave out makes a workload's figure up to 0.9 % wrong, and of many together hardly
    0.3 %. So where there are fewer than five, more of each is replayed, and of one or two all.

    asked: the study's `every`. cpu: the CPU model. workloads: how many are measured.
    """
    in_time = cpu_model_check(cpu)["in_time"]
    return asked or (min(_EVERY_IN_TIME, 1 << max(workloads - 2, 0)) if in_time else 1)


@dataclass(frozen=True)
class Traced:
    """A kernel with traces of it. folder: the kernel's, which travels as its key."""

    folder: Path
    traces: tuple[TraceFile, ...]


@dataclass(frozen=True)
class Replay:
    """Layouts to be replayed.

    cpu: the CPU model, pinned: its digest is in its key.
    every, displaced: see `Evaluator.costs`.
    threads: 0 for as many as the machine that does it has.
    """

    traced: Traced
    cpu: Path
    layouts: tuple[Arrangement, ...]
    every: int = 1
    displaced: int | None = None
    threads: int = 0


def replay(say: Say, asked: Replay) -> tuple[Figures, ...]:
    """What the workloads cost in each layout.

    Raises:
        UserError: kernel or traces are not in the store.
    """
    threads = asked.threads or os.cpu_count() or 1
    traced = open_traced(asked.traced)
    found: list[Figures] = []
    step = BATCH * threads
    for begin in range(0, len(asked.layouts), step):
        found += traced.figures(
            asked.layouts[begin : begin + step],
            asked.cpu,
            every=asked.every,
            displaced=asked.displaced,
            threads=threads,
        )
        say(Progress(len(found), len(asked.layouts)))
    return tuple(found)


@dataclass(frozen=True)
class Replays:
    """Replays of one kernel's traces, done by workers."""

    traced: Traced
    cpu: Path
    workers: Workers

    def __call__(
        self,
        layouts: Sequence[Arrangement],
        every: int,
        displaced: int | None,
        on_progress: Callable[[int], None],
    ) -> list[Figures]:
        """What each layout costs. on_progress: called with how many are done.

        Many layouts are many pieces, each for one processor; what remains is one piece for all the
        processors of a machine, which share the workloads out.
        """
        cpus = os.cpu_count() or 1
        asked = tuple(layouts)
        alone = len(asked) // (BATCH * cpus) * BATCH * cpus
        starts = range(0, alone, BATCH)
        pieces = [self._piece(asked[at : at + BATCH], every, displaced, 1) for at in starts]
        found: dict[int, tuple[Figures, ...]] = {}

        def take(done: Done[tuple[Figures, ...]]) -> None:
            found[done.place] = done.result()
            on_progress(len(found) * BATCH)

        self.workers.each((Work(replay, (piece,)) for piece in pieces), take)
        figures = [each for place in sorted(found) for each in found[place]]
        if rest := asked[alone:]:

            def say(value: object) -> None:
                assert isinstance(value, Progress)
                on_progress(alone + value.done)

            piece = self._piece(rest, every, displaced, 0)
            figures += self.workers.one(Work(replay, (piece,)), say)
        return figures

    def _piece(
        self, layouts: tuple[Arrangement, ...], every: int, displaced: int | None, threads: int
    ) -> Replay:
        return Replay(self.traced, self.cpu, layouts, every, displaced, threads)


_reading = Lock()
_in_memory: WeakValueDictionary[Traced, TracedText] = WeakValueDictionary()
# Who only replays holds what it has read until it is asked for something else.
_latest: list[TracedText] = []


def open_traced(
    traced: Traced, text: Text | None = None, on_read: Callable[[int], None] = lambda done: None
) -> TracedText:
    """A kernel's text with its traces: what is in memory, else read from the store.

    text: the kernel's, if it was read already. on_read: see `TracedText`.

    Raises:
        UserError: the kernel is not in the store, or see `TracedText`.
    """
    with _reading:
        opened = _in_memory.get(traced)
        if opened is None:
            opened = TracedText(text or text_of(traced.folder), traced.traces, on_read)
            _in_memory[traced] = opened
        _latest[:] = [opened]
        return opened


@lru_cache(maxsize=2)
def text_of(folder: Path) -> Text:
    """The text of the kernel in a folder of the store.

    Raises:
        UserError: there is none.
    """
    kernel = load_kernel(folder)
    if kernel is None:
        raise UserError(f"there is no kernel in {folder}: run the same again")
    return read_link_map(link_map(kernel), input_map(kernel))
