# SPDX-License-Identifier: GPL-2.0-or-later
"""What can go wrong, as types.

The text of every one of them is made for the user: what is wrong, where, and what to do about it.
The command line prints it without a traceback (``--debug`` shows one) and ends with ``exit_code``.
"""

from collections.abc import Sequence
from pathlib import Path
from shlex import join
from typing import Self


class KernsmithError(Exception):
    """The base of all errors that are reported as a sentence; the program ends with 1.

    of_host: whether this computer is the reason, as where a program was killed: it says nothing of
        what was worked on, and the same may go well next time.
    """

    exit_code = 1
    of_host = False

    def because_of(self, error: "KernsmithError") -> Self:
        """This error, with the other one as its reason."""
        self.of_host = error.of_host
        return self


class UserError(KernsmithError):
    """Something that the user asked for cannot be done as asked: one sentence, exit code 2."""

    exit_code = 2


class ProgramMissing(UserError):
    """An external program is not installed. ``remedy`` is the command that installs it."""

    def __init__(self, program: str, remedy: str) -> None:
        self.program = program
        self.remedy = remedy
        super().__init__(f"{program} is not installed here; get it with: {remedy}")


class DiskFull(UserError):
    """No space is left where ``path`` should have been written."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        super().__init__(f"no space left on the disk of {path}; free some and run the same again")


class LedgerFailed(KernsmithError):
    """The ledger's database refused something, or cannot be reached any more.

    ledger: its URL without the password. reason: the first line of what the database says.
    remedy: what to do about it.
    """

    def __init__(self, ledger: str, reason: str, remedy: str) -> None:
        self.ledger = ledger
        self.reason = reason
        self.remedy = remedy
        super().__init__(f"the ledger {ledger}: {reason}; {remedy} (what is recorded stays)")


class ProcessFailed(KernsmithError):
    """An external program ended with an error. Shows command, last lines of output, log's path.

    ``returncode`` is negative when a signal killed it (as in :mod:`subprocess`). ``killed`` is
    whether somebody has killed it, or something that it has started.
    """

    def __init__(
        self,
        command: Sequence[str],
        returncode: int,
        tail: str,
        log: Path | None,
        *,
        killed: bool = False,
    ) -> None:
        self.of_host = killed
        self.command = tuple(command)
        self.returncode = returncode
        self.tail = tail
        self.log = log
        super().__init__("\n".join(self._lines()))

    @property
    def brief(self) -> str:
        """Which program it was and how it ended, without its words."""
        return f"{Path(self.command[0]).name} {self._how()}"

    def _how(self) -> str:
        if self.returncode < 0:
            return f"was killed by signal {-self.returncode}"
        return f"failed with exit code {self.returncode}"

    def _lines(self) -> list[str]:
        lines = [f"{self.brief}: {join(self.command)}"]
        lines += [f"    {line}" for line in self.tail.splitlines()]
        if self.log is not None:
            lines.append(f"full log: {self.log}")
        return lines


class Interrupted(KeyboardInterrupt):
    """The command was stopped while another thread of it waited for an external program."""


class Terminated(KeyboardInterrupt):
    """The command was asked to end by SIGTERM: what Ctrl-C does, with another exit code."""


class ProcessTimedOut(ProcessFailed):
    """An external program took longer than its time limit and was killed with its children."""

    def __init__(self, command: Sequence[str], seconds: float, tail: str, log: Path | None) -> None:
        self.seconds = seconds
        super().__init__(command, -9, tail, log)

    def _how(self) -> str:
        return f"was stopped after its time limit of {self.seconds:g} s"
