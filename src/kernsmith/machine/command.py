# SPDX-License-Identifier: GPL-2.0-or-later
"""One run of a command on the running kernel, with what the kernel counted of it.

Not by `kernsmith.process`: its supervisor, its pipes and its threads would be in the figures. The
command is spawned in a group of its own, reads nothing, and its standard output goes nowhere; of
what it prints as errors the end is kept.
"""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import signal
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import join

from kernsmith.errors import UserError
from kernsmith.machine.metrics import MAX_RSS, RUSAGE, SECONDS

_TAIL = 2000
_GRACE_SECONDS = 2.0


@dataclass(frozen=True)
class Ran:
    """metrics: by name, those of `RUSAGE` and `seconds`.

    `max_rss` is missing where the command took less memory than kernsmith itself: the kernel counts
    what the process had before it became the command (exec_mmap() in fs/exec.c).
    exit_code: negative where a signal ended it. errors: the end of what it said.
    """

    metrics: Mapping[str, float]
    exit_code: int
    errors: str


def find_command(words: Sequence[str]) -> Path:
    """The program of a command.

    Raises:
        UserError: no words, or no such program.
    """
    if not words:
        raise UserError("a command is missing: kernsmith measure -- COMMAND")
    found = shutil.which(words[0])
    if found is None:
        raise UserError(f"there is no program {words[0]!r} to run: {join(words)}")
    return Path(found)


def run_command(program: Path, words: Sequence[str]) -> Ran:
    """Run it to its end. An exception in the meantime (Ctrl-C) ends it, with what it started.

    Figures are those of getrusage(2) for it and all of its children that it waited for; seconds
    are of the monotonic clock, from before it is spawned until it is waited for.
    """
    with tempfile.TemporaryFile() as errors, open(os.devnull, "r+b") as nothing:  # noqa: PTH123
        actions = [
            (os.POSIX_SPAWN_DUP2, nothing.fileno(), 0),
            (os.POSIX_SPAWN_DUP2, nothing.fileno(), 1),
            (os.POSIX_SPAWN_DUP2, errors.fileno(), 2),
        ]
        own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        began = time.monotonic_ns()
        child = os.posix_spawn(program, list(words), os.environ, file_actions=actions, setpgroup=0)
        try:
            _, status, usage = os.wait4(child, 0)
        except BaseException:
            _end(child)
            raise
        seconds = (time.monotonic_ns() - began) / 1e9
        size = errors.seek(0, os.SEEK_END)
        errors.seek(max(0, size - _TAIL))
        tail = errors.read().decode("utf-8", "replace").strip()
    counted = {SECONDS: seconds} | {
        name: float(getattr(usage, field)) for field, name in RUSAGE.items()
    }
    if counted[MAX_RSS] <= own:
        del counted[MAX_RSS]
    return Ran(counted, os.waitstatus_to_exitcode(status), tail)


def _end(child: int) -> None:
    """Ask the command's group to end; kill it when it does not."""
    for sign, patience in ((signal.SIGTERM, _GRACE_SECONDS), (signal.SIGKILL, 60.0)):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child, sign)
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            with contextlib.suppress(ChildProcessError):
                if os.waitpid(child, os.WNOHANG)[0]:
                    return
            time.sleep(0.01)
