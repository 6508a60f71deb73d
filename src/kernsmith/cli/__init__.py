# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line: one module a command. Parse, call one function, print."""

from __future__ import annotations

import errno
import importlib
import io
import os
import signal
import sys
import threading
import traceback
from pathlib import Path
from types import FrameType
from typing import NoReturn

from cyclopts import App
from rich.console import Console

from kernsmith import __version__
from kernsmith.cli.console import help_console
from kernsmith.errors import DiskFull, KernsmithError, Terminated, UserError

_COMMANDS = (
    "optimize", "compare", "bisect", "watch", "blame", "verify", "layout", "profile", "run",
    "batch", "resume", "plan", "measure", "analyze", "report", "workload", "kernels", "ledger",
    "package", "prove", "export", "prune", "toolchain", "cpu", "silicon", "delegate", "doctor",
)  # fmt: skip

# By Ctrl-C, and by SIGTERM: as shells tell it.
_STOPPED = (128 + signal.SIGINT, 128 + signal.SIGTERM)
# Ways to encode that fail with some letters: Python's default, and that of the locale C.
_REFUSE_LETTERS = ("strict", "surrogateescape")


def main(arguments: list[str] | None = None) -> None:
    """Run one command; the exit code is 0, 1 (something failed) or 2 (bad input)."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    own = words[: words.index("--")] if "--" in words else words
    debug = "--debug" in own
    if debug:
        words.remove("--debug")
    _allow_any_letter()
    before = signal.signal(signal.SIGTERM, _terminate)
    try:
        code = _guarded(words, debug)
    finally:
        signal.signal(signal.SIGTERM, before)
    if code in _STOPPED and arguments is None:
        _leave(code)
    sys.exit(code)


def _allow_any_letter() -> None:
    """Print `?` for letters that standard output's encoding has not, instead of failing."""
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors in _REFUSE_LETTERS:
        sys.stdout.reconfigure(errors="replace")


def _leave(code: int) -> None:
    """End at once, if a thread is left: one that computes hears of no signal."""
    if any(
        not each.daemon for each in threading.enumerate() if each is not threading.main_thread()
    ):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _terminate(number: int, frame: FrameType | None) -> NoReturn:
    raise Terminated


def _app(words: list[str]) -> App:
    """With the command that is called, or, for their list, all: each imports what it needs."""
    app = App(
        name="kernsmith",
        version=__version__,
        help="Forge Linux kernels for a workload and prove that they are faster.",
        suppress_keyboard_interrupt=False,
        console=help_console(),
    )
    called = [name for name in _COMMANDS if words[:1] == [name]]
    for name in called or _COMMANDS:
        app.command(getattr(importlib.import_module(f"kernsmith.cli.{name}"), name))
    return app


def _guarded(words: list[str], debug: bool) -> int:
    try:
        code = _app(words)(words, exit_on_error=True, result_action="return_value")
        print(end="", flush=True)  # a pipe whose reader has gone is found here, not at the exit
    except (KernsmithError, OSError) as error:
        if isinstance(error, BrokenPipeError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        if debug:
            traceback.print_exc()
        reason = error if isinstance(error, KernsmithError) else _sentence(error)
        _give_up_unwritten()
        console = Console(stderr=True, highlight=False, soft_wrap=True, markup=False)
        for line in (reason, *getattr(error, "__notes__", ())):
            console.print(f"kernsmith: {line}")
        return reason.exit_code
    except KeyboardInterrupt as stopped:
        next_time = str(stopped) or "the same command goes on from here"
        print(f"kernsmith: stopped; {next_time}", file=sys.stderr)
        return _STOPPED[isinstance(stopped, Terminated)]
    return code if isinstance(code, int) else 0


def _give_up_unwritten() -> None:
    """Where standard output takes nothing, what is left of it is not tried again at the exit."""
    if _is_stdout_broken():
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _is_stdout_broken() -> bool:
    try:
        print(end="", flush=True)  # what was refused is still there
    except OSError:
        return True
    return False


def _is_here_gone() -> bool:
    try:
        Path.cwd()
    except OSError:
        return True
    return False


def _sentence(error: OSError) -> KernsmithError:
    """What the system refused, in words: a full disk, a folder that cannot be written."""
    where = error.filename or "a file"
    if not error.filename and _is_stdout_broken():
        return UserError(f"standard output: {error.strerror or error}")
    if not error.filename and _is_here_gone():
        return UserError("the working folder was removed: change to another one")
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull(where)
    return UserError(f"{where}: {error.strerror or error}")
