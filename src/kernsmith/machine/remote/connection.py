# SPDX-License-Identifier: GPL-2.0-or-later
"""Commands on a machine elsewhere, by the `ssh` program with the user's own config, agent and keys.

Nothing is ever asked for: who has no key there that works without a question is told so.
"""

from __future__ import annotations

import gzip
import re
import shlex
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from kernsmith import process
from kernsmith.errors import DiskFull, KernsmithError, ProcessFailed, ProcessTimedOut, UserError
from kernsmith.stop import check_stop

Result = TypeVar("Result")

CONNECT_SECONDS = 60
_LIFE_SECONDS, _LIVES = 15, 4
"""Between signs of life on a connection, and after how many without an answer it is lost."""
_PAUSE_SECONDS = 2.0
_LOST = 255
# What no further attempt mends, with what is said of it.
_FINAL = (
    (
        r"REMOTE HOST IDENTIFICATION HAS CHANGED",
        "the key of {host} is not the one that known_hosts has of it: if the machine was installed "
        "anew, forget the old key (ssh-keygen -R) and connect once by hand",
    ),
    (
        r"Host key verification failed|No \S+ host key is known",
        "nobody has confirmed the key of {host} yet: connect once by hand (ssh {host})",
    ),
    (
        r"Permission denied \(|Too many authentication failures",
        "{host} lets nobody in without a question: ssh -o BatchMode=yes {host} must work (a key in "
        "an agent, and in authorized_keys there)",
    ),
    (r"Could not resolve hostname", "there is no host {host}: ssh does not find its address"),
    (
        r"Bad configuration option|Bad owner or permissions|terminating, \d+ bad config|"
        r"Can't open user config|unknown option|illegal option",
        "ssh does not take its configuration: {said}",
    ),
)  # fmt: skip


class Unreachable(KernsmithError):
    """The machine does not answer, or stopped answering."""


class RemoteFailed(KernsmithError):
    """A command there ended with an error. said: what it said."""

    def __init__(self, host: str, what: str, returncode: int, said: str) -> None:
        self.returncode = returncode
        self.said = said
        last = " / ".join(said.splitlines()[-3:]) or f"exit code {returncode}"
        super().__init__(f"{host}: {what} failed: {last}")


@dataclass(frozen=True)
class Connection:
    """How a machine is reached.

    host: what `ssh` calls it. options: words for `ssh`, in front of it.
    become: words in front of commands, for those who are not root there.
    patience: for how many seconds a connection that cannot be made, or is lost, is made again.
    """

    host: str
    options: tuple[str, ...] = ()
    become: tuple[str, ...] = ()
    patience: float = 0.0

    def command(self, script: str) -> list[str]:
        """The local command line that has a shell there run a script."""
        remote = shlex.join([*self.become, "sh", "-c", script])
        return [
            "ssh", "-o", "BatchMode=yes", *self.options, "-o", f"ConnectTimeout={CONNECT_SECONDS}",
            "-o", f"ServerAliveInterval={_LIFE_SECONDS}", "-o", f"ServerAliveCountMax={_LIVES}",
            "--", self.host, remote,
        ]  # fmt: skip

    def run(
        self,
        script: str,
        what: str,
        *,
        seconds: float = 120.0,
        given: bytes | None = None,
        once: bool = False,
    ) -> str:
        """What a script prints there.

        what: it does, for messages. seconds: how long it may take. given: its standard input.
        once: it must not be done twice: a connection that is lost is not made again.

        Raises:
            Unreachable: there is no connection, or it was lost.
            RemoteFailed: the script ended with an error.
            UserError: ssh itself cannot do it, now or later; the disk there is full.
        """
        command = self.command(script)

        def attempt() -> str:
            try:
                return process.run(command, timeout=seconds, input=given, merge=False).output
            except ProcessTimedOut:
                raise Unreachable(f"{self.host}: {what} did not end in {seconds:g} s") from None
            except DiskFull as full:
                if full.path != Path.cwd():  # of a program without a log: what it said of its own
                    raise
                raise self.full(what) from None
            except ProcessFailed as error:
                raise self.told(error.returncode, error.tail, what) from None

        return attempt() if once else patiently(attempt, self.patience)

    def told(self, returncode: int, said: str, what: str) -> KernsmithError:
        """What went wrong, by what `ssh` said."""
        said = "\n".join(line for line in said.splitlines() if not line.startswith("debug"))
        if returncode == _LOST:
            for pattern, sentence in _FINAL:
                if found := re.search(f".*(?:{pattern}).*", said):
                    return UserError(sentence.format(host=self.host, said=found[0].strip()))
            last = said.splitlines()[-1].strip() if said.strip() else "the connection was lost"
            return Unreachable(f"{self.host} does not answer: {last}")
        return RemoteFailed(self.host, what, returncode, said)

    def full(self, what: str) -> UserError:
        """The disk there is."""
        return UserError(
            f"the disk of {self.host} is full ({what}): free some space there and run the same "
            "again"
        )

    def send(self, content: bytes, target: str, what: str, *, seconds: float = 600.0) -> None:
        """Write a file there, all of it or nothing, and bring it to the disk; packed on its way.

        Raises:
            As `run`.
        """
        part, place = shlex.quote(f"{target}.part"), shlex.quote(target)
        script = (
            f'set -e; gzip -d > {part}; test "$(wc -c < {part})" -eq {len(content)}; sync {part}; '
            f"mv {part} {place}"
        )
        self.run(script, what, seconds=seconds, given=gzip.compress(content, 1))


def patiently(
    attempt: Callable[[], Result],
    seconds: float,
    enough: Callable[[Result], bool] = lambda found: True,
) -> Result:
    """Try until the machine answers, and with what is waited for.

    Raises:
        Unreachable: the time is over; the last of what was in the way.
    """
    deadline = time.monotonic() + seconds
    last: Unreachable | None = None
    while True:
        try:
            found = attempt()
            if enough(found):
                return found
        except Unreachable as error:
            last = error
        if time.monotonic() > deadline:
            raise last or Unreachable("the machine stays as it is")
        check_stop()
        time.sleep(_PAUSE_SECONDS)


def read_options(text: str) -> tuple[str, ...]:
    """The words of a setting. Raises UserError: a quote has no end."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UserError(f"machine.settings.ssh_options: {error}") from None
    for place, word in enumerate(words):
        if word in ("-F", "-i") and place + 1 < len(words):
            words[place + 1] = str(Path(words[place + 1]).expanduser())
    return tuple(words)
