# SPDX-License-Identifier: GPL-2.0-or-later
"""A guest that stays up and takes orders: QEMU, its serial line, and its processor's place."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import Future, wait
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

from kernsmith import process
from kernsmith.errors import KernsmithError, ProcessFailed, UserError
from kernsmith.machine.console import last_lines, read_console
from kernsmith.machine.protocol import FAILED, HANG, PANIC
from kernsmith.machine.qemu_threads import pin_and_go
from kernsmith.machine.serial_line import LineClosed, NoAnswer, SerialLine
from kernsmith.machine.session_lines import SESSION, Answer, end_of, order, read_answer
from kernsmith.threads import threads

_END_SECONDS = 5.0
_FATAL = ("KVM internal error", "KVM: entry failed")


class _Over(Exception):
    """A guest is not needed any more."""


class _GaveUp(Exception):
    """QEMU said that the guest cannot go on; it would wait for a debugger."""


def _listen(line: str) -> None:
    if any(words in line for words in _FATAL):
        raise _GaveUp


class GuestDied(Exception):
    """A guest that will say nothing more. status: as of an `Outcome`; reason: a sentence. lost:
    whether it was QEMU that ended, and not the guest."""

    def __init__(self, status: str, reason: str, *, lost: bool = False) -> None:
        self.status = status
        self.lost = lost
        self.reason = reason
        super().__init__(reason)


@dataclass
class Guest:
    """Booted by `start`, ended by `end`. Used by one thread.

    command: QEMU's, without where its lines are. console: gets all that the guest says.
    processor: of the host. time_limit: seconds for the boot, and for each run.
    clock: of the guest's kernel, known when it has started. thread: of its processor.
    """

    command: Sequence[str]
    console: Path
    processor: int
    time_limit: float
    clock: str = ""
    thread: int = 0
    _count: int = 0
    _line: SerialLine | None = None
    _running: Future[process.Completed] | None = None
    _began: float = field(default_factory=time.monotonic)
    _open: ExitStack = field(default_factory=ExitStack)

    @property
    def seconds(self) -> float:
        """Since it was made."""
        return time.monotonic() - self._began

    def start(self) -> None:
        """Boot it, up to where it waits for orders.

        Raises:
            GuestDied: it does not come so far.
            UserError: QEMU is not installed, or the disk is full.
        """
        folder = tempfile.TemporaryDirectory(prefix="kernsmith-kvm-", ignore_cleanup_errors=True)
        sockets = Path(self._open.enter_context(folder))
        pool = self._open.enter_context(threads(1))
        control = sockets / "control"
        log = self.console.with_suffix(".qemu.log")
        try:
            self.console.parent.mkdir(parents=True, exist_ok=True)
            self._line = line = self._open.enter_context(SerialLine(sockets / "line", self.console))
            command = [
                *self.command, "-S", "-qmp", f"unix:{control},server=on,wait=off",
                "-serial", line.option,
            ]  # fmt: skip
            self._running = running = pool.submit(
                process.run, command, log=log, timeout=None, on_line=_listen, capture=False
            )
            line.alive = lambda: not running.done()
            self.thread = pin_and_go(control, self.processor, line.alive)
        except BaseException as error:
            qemu = self._running
            failure = qemu.exception() if qemu and qemu.done() else None
            self.end()
            raise _not_started(failure or error) from None
        try:
            _, match = line.wait_for("the guest", SESSION, seconds=self.time_limit)
        except NoAnswer as error:
            raise self._death("the guest did not start", error) from None
        self.clock = match[1]

    def run(self, workload: str, rounds: int, warmup: int) -> Answer:
        """One run, to its end.

        Raises:
            GuestDied: the guest ends before that, or the time limit passes.
        """
        assert self._line is not None
        self._count += 1
        try:
            self._line.say(order(self._count, workload, rounds, warmup))
            _, match = self._line.wait_for(
                f"the end of {workload}", end_of(self._count), seconds=self.time_limit
            )
        except NoAnswer as error:
            raise self._death(f"{workload} did not end", error) from None
        return read_answer(self._count, match[0])

    def end(self) -> None:
        """Switch it off."""
        with suppress(_Over), self._open:
            raise _Over

    def _is_killed(self) -> bool:
        """Whether somebody has ended QEMU, whose line is closed."""
        assert self._running is not None
        wait([self._running], _END_SECONDS)
        failure = self._running.exception() if self._running.done() else None
        return isinstance(failure, ProcessFailed) and failure.of_host

    def _death(self, what: str, error: NoAnswer) -> GuestDied:
        """How the guest ended, with the last that it said."""
        text = self.console.read_text(encoding="utf-8", errors="replace")
        said = f"; {last_lines(self.console)}"
        killed = isinstance(error, LineClosed) and self._is_killed()
        self.end()
        log = self.console.with_suffix(".qemu.log").read_text(encoding="utf-8", errors="replace")
        if panic := read_console(text).panic:
            return GuestDied(PANIC, f"kernel panic: {panic}{said}")
        for line in log.splitlines():
            if any(words in line for words in _FATAL):
                return GuestDied(FAILED, f"{what}: {line.strip()}{said}")
        if killed:
            return GuestDied(FAILED, f"{what}: QEMU was killed{said}", lost=True)
        if isinstance(error, LineClosed):
            return GuestDied(FAILED, f"{what}: the guest switched itself off{said}")
        return GuestDied(HANG, f"{what} in {self.time_limit:g} s{said}")


def _not_started(error: BaseException) -> BaseException:
    """What the caller hears of a QEMU that did not come to its guest: only what no other boot could
    do either, and a wish to stop, go further than to this boot."""
    if isinstance(error, UserError):
        return error
    if isinstance(error, ProcessFailed):
        said = " / ".join(error.tail.strip().splitlines())
    elif isinstance(error, _GaveUp):
        said = "KVM gave the guest up"
    elif isinstance(error, KernsmithError):
        said = str(error).splitlines()[0]
    else:
        return error
    return GuestDied(FAILED, f"QEMU did not start: {said}", lost=True)
