# SPDX-License-Identifier: GPL-2.0-or-later
"""A conversation over a serial line: wait for words, type words."""

from __future__ import annotations

import fcntl
import os
import re
import select
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from kernsmith.errors import KernsmithError
from kernsmith.stop import check_stop

_SHOWN = 15
_CHUNK = 1 << 16
_LOOK_MS = 1000
_ROOM = 1 << 20


class NoAnswer(KernsmithError):
    """A guest that did not say what was waited for; shows the last lines that it did say."""


class LineClosed(NoAnswer):
    """There is nobody at the other end any more."""


class SerialLine:
    """The line of a guest: two pipes, which are there before its emulator is.

    A guest waits for nobody who listens: what finds no room is lost, and a socket has room for some
    hundred letters that are written one by one. Pipes have it for as many as a whole boot says.

    path: of the pipes, which get `.in` and `.out` behind it. log: gets all that comes over the
    line. alive: whether the emulator still runs.
    """

    def __init__(self, path: Path, log: Path, alive: Callable[[], bool] = lambda: True) -> None:
        self.option = f"pipe:{str(path).replace(',', ',,')}"
        """QEMU's `-serial`."""
        self.alive = alive
        self._log = log.open("wb", buffering=0)
        for end in (said := Path(f"{path}.out"), typed := Path(f"{path}.in")):
            os.mkfifo(end)
        self._ears = os.open(said, os.O_RDONLY | os.O_NONBLOCK)
        with suppress(OSError):  # a user may be allowed no such pipe: 64 KiB, then
            fcntl.fcntl(self._ears, fcntl.F_SETPIPE_SZ, _ROOM)
        self._mouth = os.open(typed, os.O_RDWR)
        self._heard = ""
        self._count = 0

    def __enter__(self) -> SerialLine:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._ears)
        os.close(self._mouth)
        self._log.close()

    def wait_for(self, what: str, *patterns: str, seconds: float) -> tuple[int, re.Match[str]]:
        """Wait until one of the patterns is heard, and forget all up to its end.

        what: is waited for, for the message. Returns which of them, and the match.

        Raises:
            NoAnswer: the time is over. LineClosed: the guest has ended.
        """
        end = time.monotonic() + seconds
        while True:
            check_stop()
            heard = [re.search(pattern, self._heard) for pattern in patterns]
            found = [(each.start(), which) for which, each in enumerate(heard) if each]
            if found:
                which = min(found)[1]
                match = heard[which]
                assert match is not None
                self._heard = self._heard[match.end() :]
                return which, match
            if time.monotonic() > end:
                raise NoAnswer(f"{what} did not come in {seconds:g} s{self._last()}")
            if not self._listen():
                raise LineClosed(f"{what} did not come: the guest has ended{self._last()}")

    def say(self, text: str) -> None:
        """Type a line."""
        os.write(self._mouth, f"{text}\n".encode())

    def run(self, command: str, *, seconds: float) -> tuple[int, str]:
        """Have a shell run a command; returns its exit status and what it printed.

        Raises:
            NoAnswer: see `wait_for`.
        """
        self._count += 1
        # As it is typed, and echoed, it is not what is waited for.
        mark = f"mark-{self._count}"
        self.say(f"echo begin-''{mark}; {command}; echo end-''{mark}-$?-")
        self.wait_for(f"a shell for {command!r}", rf"begin-{mark}\s*\n", seconds=seconds)
        pattern = rf"(?s)(.*?)end-{mark}-(\d+)-"
        _, match = self.wait_for(f"the end of {command!r}", pattern, seconds=seconds)
        return int(match[2]), match[1].strip()

    def _listen(self) -> bool:
        """Hear what comes; whether the line is still open."""
        look = select.poll()
        look.register(self._ears, select.POLLIN)
        if not look.poll(_LOOK_MS):
            return self.alive()
        data = os.read(self._ears, _CHUNK)
        self._log.write(data)
        self._heard += data.decode("utf-8", "replace").replace("\r", "")
        return bool(data)

    def _last(self) -> str:
        lines = [line for line in self._heard.splitlines() if line.strip()][-_SHOWN:]
        shown = "".join(f"\n    {''.join(filter(str.isprintable, line))}" for line in lines)
        return f"; it last said:{shown}" if lines else "; it said nothing"
