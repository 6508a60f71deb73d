# SPDX-License-Identifier: GPL-2.0-or-later
"""How running programs are asked to end: each thread obeys a `Stop`."""

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Iterator

from kernsmith.errors import Interrupted


class Stop:
    """Ends, from any thread, the programs of the threads that obey it; they start no further ones.

    `process.run` then raises Interrupted in those threads.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self.called = False

    def call(self) -> None:
        """Ask all programs to end at once; those that do not are killed by who waits for them."""
        with self._lock:
            self.called = True
            for process in self._running:
                if process.returncode is None:
                    with contextlib.suppress(ProcessLookupError, PermissionError):
                        os.killpg(process.pid, signal.SIGTERM)

    def check(self) -> None:
        """Raises Interrupted when the programs were asked to end."""
        if self.called:
            raise Interrupted

    @contextlib.contextmanager
    def watching(self, process: "subprocess.Popen[bytes]") -> Iterator[None]:
        """Let the program be ended as long as the block runs."""
        with self._lock:
            self._running.add(process)
        try:
            self.check()
            yield
            self.check()
        finally:
            with self._lock:
                self._running.remove(process)


_OF_THREAD = threading.local()


def obey(stop: Stop) -> None:
    """From now on, `stop` ends the programs of the calling thread."""
    _OF_THREAD.stop = stop


def check_stop() -> None:
    """Raises Interrupted when the programs of this thread were asked to end: for those that
    `process.run` does not start."""
    current().check()


@contextlib.contextmanager
def putting_in_order() -> Iterator[None]:
    """What the block starts is not ended by what has ended this thread's programs."""
    before = current()
    obey(Stop())
    try:
        yield
    finally:
        obey(before)


def current() -> Stop:
    """What ends the programs of this thread; of the main thread, nothing but an exception does."""
    return getattr(_OF_THREAD, "stop", None) or Stop()
