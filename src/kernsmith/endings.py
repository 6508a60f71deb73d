# SPDX-License-Identifier: GPL-2.0-or-later
"""What the end of a program says of this computer, and not of what the program worked on.

Without space on the disk a program says so, or is killed: who writes a file as memory (ld.lld does)
gets SIGBUS where the disk has no block for a page. Without memory the kernel sends SIGKILL to the
compiler, and make only says that a job of it was killed.
"""

from __future__ import annotations

import os
import re
import signal
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_FULL = ("No space left on device", "Disk quota exceeded")
# Compilers, make and shells, of what they have started; a shell ends with 128 and the signal.
_SAYS = r"(?:unable to execute command: |fatal error: |\*\*\* \[.*\] |^(?:\S+: line \d+: +\d+ )?)"
_KILLED = re.compile(rf"{_SAYS}(?:Killed|Terminated)\b|\*\*\* \[.*\] Error (?:137|143)\b")
_BUS = re.compile(rf"{_SAYS}Bus error\b|\*\*\* \[.*\] Error 135\b")
_KILLING = (signal.SIGKILL, signal.SIGTERM)

LEAST_BYTES = 1 << 20
"""A disk with less is as good as full."""
LEAST_MAPPED_BYTES = 256 << 20
"""The same where SIGBUS ended a program: an image may be so large, and what there was of it is gone
again."""


@dataclass
class Signs:
    """What the lines of a program's output have said. full: that there is no space. killed, bus:
    that something that it has started was killed, or ended by SIGBUS."""

    full: bool = False
    killed: bool = False
    bus: bool = False

    def read(self, line: str) -> None:
        """Take the next line."""
        self.full = self.full or any(words in line for words in _FULL)
        self.killed = self.killed or _KILLED.search(line) is not None
        self.bus = self.bus or _BUS.search(line) is not None


def is_killed(returncode: int, signs: Iterable[Signs]) -> bool:
    """Whether somebody has killed a program, or a part of it: the kernel, where memory is short."""
    return _ended_by(returncode, *_KILLING) or any(each.killed for each in signs)


def full_disk(
    returncode: int, signs: Iterable[Signs], folders: Iterable[Path], *, asked: bool
) -> Path | None:
    """The folder on whose disk a program that failed found no space; None where there was some.

    folders: that it may have written to; the first that exists is told where its own words say it.
    asked: whether to look at the disks although nothing says that it was space.
    """
    looked_at = [
        each.absolute() for each in (*folders, Path(tempfile.gettempdir())) if each.is_dir()
    ]
    signs = tuple(signs)
    if any(each.full for each in signs):
        return looked_at[0]
    bus = _ended_by(returncode, signal.SIGBUS) or any(each.bus for each in signs)
    if not (bus or asked):
        return None
    least = LEAST_MAPPED_BYTES if bus else LEAST_BYTES
    return next((each for each in looked_at if _free_bytes(each) < least), None)


def _ended_by(returncode: int, *signals: int) -> bool:
    """By itself, or as a shell tells it of what it has run last."""
    return returncode in {sign for each in signals for sign in (-each, 128 + each)}


def _free_bytes(folder: Path) -> int:
    """That this user may still fill."""
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize
