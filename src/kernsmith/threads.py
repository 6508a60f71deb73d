# SPDX-License-Identifier: GPL-2.0-or-later
"""Threads that wait for external programs, and end together."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import TypeVar

from kernsmith.stop import Stop, obey

Item = TypeVar("Item")
Result = TypeVar("Result")
_LOOK_SECONDS = 1.0

PATIENCE_SECONDS = 5.0
"""So long programs that were asked to end may take, behind Ctrl-C."""


@contextmanager
def threads(most: int, nice: int = 0) -> Iterator[ThreadPoolExecutor]:
    """A pool of so many threads. When the block ends by an exception, so do their programs.

    nice: added to the niceness of these threads and of the programs that they start.

    Ctrl-C is an exception of the main thread alone: a thread that waits for a boot would not
    hear of it until the boot ends. Jobs that have not begun are not begun any more. Behind Ctrl-C
    a thread that computes is not waited for: it ends with the process, as by a kill.
    """
    stop = Stop()
    begun: list[threading.Thread] = []
    pool = ThreadPoolExecutor(most, initializer=_begin, initargs=(stop, nice, begun))
    try:
        yield pool
    except BaseException as error:
        stop.call()
        pool.shutdown(wait=not isinstance(error, KeyboardInterrupt), cancel_futures=True)
        last = time.monotonic() + PATIENCE_SECONDS
        for thread in begun:
            thread.join(max(0.0, last - time.monotonic()))
        raise
    pool.shutdown()


def first_ended(jobs: Iterable[Future[Result]]) -> set[Future[Result]]:
    """Wait until one of the jobs or more have ended; the calling thread hears of Ctrl-C meanwhile.

    A signal that comes between the interpreter's last look and its wait for a lock wakes nobody
    (CPython, `acquire_timed` in Modules/_threadmodule.c): no wait is longer than a second.
    """
    waiting = list(jobs)
    while True:
        ended = wait(waiting, timeout=_LOOK_SECONDS, return_when=FIRST_COMPLETED).done
        if ended:
            return ended


def each_of(
    pool: ThreadPoolExecutor,
    call: Callable[[Item], Result],
    items: Iterable[Item],
    progress: Callable[[int, int], None] | None = None,
) -> list[Result]:
    """What a call gives for each item, in their order; the calling thread hears of Ctrl-C
    meanwhile, and of the first call that fails.

    progress: told how many have ended, and of how many.
    """
    jobs = [pool.submit(call, item) for item in items]
    waiting = set(jobs)
    while waiting:
        ended = first_ended(waiting)
        for job in ended:
            job.result()
        waiting -= ended
        if progress is not None:
            progress(len(jobs) - len(waiting), len(jobs))
    return [job.result() for job in jobs]


def _begin(stop: Stop, nice: int, begun: list[threading.Thread]) -> None:
    begun.append(threading.current_thread())
    obey(stop)
    if nice:  # Linux: of this thread alone, and inherited by what it starts
        thread = threading.get_native_id()
        before = os.getpriority(os.PRIO_PROCESS, thread)
        os.setpriority(os.PRIO_PROCESS, thread, before + nice)
