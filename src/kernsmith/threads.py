# SPDX-License-Identifier: GPL-2.0-or-later
"""Threads that wait for external programs, and end together."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from kernsmith.process import Stop, obey


@contextmanager
def threads(most: int, nice: int = 0) -> Iterator[ThreadPoolExecutor]:
    """A pool of so many threads. When the block ends by an exception, so do their programs.

    nice: added to the niceness of these threads and of the programs that they start.

    Ctrl-C is an exception of the main thread alone: a thread that waits for a boot would not
    hear of it until the boot ends. Jobs that have not begun are not begun any more.
    """
    stop = Stop()
    with ThreadPoolExecutor(most, initializer=_begin, initargs=(stop, nice)) as pool:
        try:
            yield pool
        except BaseException:
            stop.call()
            pool.shutdown(cancel_futures=True)
            raise


def _begin(stop: Stop, nice: int) -> None:
    obey(stop)
    if nice:  # Linux: of this thread alone, and inherited by what it starts
        thread = threading.get_native_id()
        before = os.getpriority(os.PRIO_PROCESS, thread)
        os.setpriority(os.PRIO_PROCESS, thread, before + nice)
