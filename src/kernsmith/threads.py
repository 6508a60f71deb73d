# SPDX-License-Identifier: GPL-2.0-or-later
"""Threads that wait for external programs, and end together."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from kernsmith.process import Stop, obey


@contextmanager
def threads(most: int) -> Iterator[ThreadPoolExecutor]:
    """A pool of so many threads. When the block ends by an exception, so do their programs.

    Ctrl-C is an exception of the main thread alone: a thread that waits for a boot would not
    hear of it until the boot ends. Jobs that have not begun are not begun any more.
    """
    stop = Stop()
    with ThreadPoolExecutor(most, initializer=obey, initargs=(stop,)) as pool:
        try:
            yield pool
        except BaseException:
            stop.call()
            pool.shutdown(cancel_futures=True)
            raise
