# SPDX-License-Identifier: GPL-2.0-or-later
"""QEMU's debugger, in the words of gdb's remote protocol (gdb's manual, appendix E).

It stops a guest at an instruction: at the same one in every boot, whatever the host does meanwhile.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from kernsmith.errors import KernsmithError
from kernsmith.stop import check_stop

_ANSWER_SECONDS = 60.0
_LOOK_SECONDS = 0.02


class NotReached(KernsmithError):
    """A guest that did not come to an address. ended: it has ended; else its time was over."""

    def __init__(self, why: str, *, ended: bool) -> None:
        super().__init__(f"the guest did not come to where it is stopped: {why}")
        self.ended = ended


class Debugger:
    """The line of a debugger at a Unix socket."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self._line.settimeout(1.0)
        self._heard = b""

    def stop_at(self, address: int, seconds: float) -> None:
        """Let a guest go on until any of its processes is about to execute what is at an address.

        Raises:
            NotReached: it ended before, or its time.
        """
        if self.ask(f"Z1,{address:x},1") != "OK":
            raise KernsmithError("QEMU's debugger does not stop guests at addresses")
        try:
            answer = self.ask("c", seconds)
        except ConnectionError:
            answer = ""
        if not answer.startswith("T"):
            raise NotReached("it ended", ended=True)

    def write(self, address: int, data: bytes) -> None:
        """Put bytes where the process that is stopped has this address."""
        if self.ask(f"M{address:x},{len(data):x}:{data.hex()}") != "OK":
            raise KernsmithError("QEMU's debugger does not write into a guest's memory")

    def ask(self, words: str, seconds: float = _ANSWER_SECONDS) -> str:
        """Send a packet; returns that of the answer.

        Raises:
            NotReached: none comes in that time. ConnectionError: there is nobody any more.
        """
        self._line.sendall(f"${words}#{sum(words.encode()) % 256:02x}".encode())
        end = time.monotonic() + seconds
        # A packet ends with two letters of a sum behind its mark.
        while len(self._heard.partition(b"#")[2]) < 2:
            check_stop()
            if time.monotonic() > end:
                raise NotReached(f"not in {seconds:g} s", ended=False)
            try:
                more = self._line.recv(4096)
            except TimeoutError:
                continue
            if not more:
                raise ConnectionResetError("QEMU has ended")
            self._heard += more
        packet, _, rest = self._heard.partition(b"#")
        self._heard = rest[2:]
        self._line.sendall(b"+")
        return packet.partition(b"$")[2].decode()


@contextmanager
def connected_debugger(path: Path, alive: Callable[[], bool] = lambda: True) -> Iterator[Debugger]:
    """The debugger at a socket that QEMU opens now. alive: whether that still runs.

    Raises:
        OSError: it opens none.
    """
    end = time.monotonic() + _ANSWER_SECONDS
    while True:
        check_stop()
        line = socket.socket(socket.AF_UNIX)
        try:
            line.connect(str(path))
        except OSError:
            line.close()
            if time.monotonic() > end or not alive():
                raise
            time.sleep(_LOOK_SECONDS)
        else:
            break
    with line:
        yield Debugger(line)
