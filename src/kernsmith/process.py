# SPDX-License-Identifier: GPL-2.0-or-later
"""The one place where external programs are started.

A program runs in a session of its own, so that a time-out, Ctrl-C or an exception in the caller
ends it *and* what it has started; programs of several threads are ended by `kernsmith.threads`.
When kernsmith itself is killed (SIGKILL too), the kernel sends the program SIGTERM: no build or
emulator goes on without its owner.
"""

import contextlib
import errno
import os
import selectors
import shutil
import signal
import subprocess
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from shlex import join
from typing import IO, cast

from kernsmith.endings import Signs, full_disk, is_killed
from kernsmith.errors import DiskFull, ProcessFailed, ProcessTimedOut, ProgramMissing
from kernsmith.stop import Stop, current

TAIL_LINES = 20
_CHUNK = 1 << 16
_GRACE_SECONDS = 2.0
_PACKAGES = {
    "apt-get": "apt",
    "ar": "binutils",
    "busybox": "busybox-static",
    "cpio": "cpio",
    "depmod": "kmod",
    "dpkg-deb": "dpkg",
    "dh_prep": "debhelper",
    "dpkg-buildpackage": "dpkg-dev",
    "g++": "g++",
    "gcc": "gcc",
    "git": "git",
    "gpgv": "gpgv",
    "guestfish": "guestfish",
    "gzip": "gzip",
    "ld": "binutils",
    "make": "make",
    "bsdtar": "libarchive-tools",
    "makepkg": "makepkg",
    "pacman": "pacman-package-manager",
    "mke2fs": "e2fsprogs",
    "mmdebstrap": "mmdebstrap",
    "perl": "perl",
    "qemu-img": "qemu-utils",
    "rpm2cpio": "rpm2cpio",
    "rpmbuild": "rpm",
    "rsync": "rsync",
    "sqfstar": "squashfs-tools",
    "ssh": "openssh-client",
    "ssh-keygen": "openssh-client",
    "tar": "tar",
    "xz": "xz-utils",
    "zstd": "zstd",
    "bc": "bc",
    "bison": "bison",
    "ccache": "ccache",
    "flex": "flex",
    "pahole": "pahole",
}
# A calling `make` hands its own flags, job server and variable overrides to every child; a kernel
# build must not see those of `make demo`.
_FROM_MAKE = ("MAKEFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "MFLAGS", "MAKEFILES")


@dataclass(frozen=True)
class Completed:
    """How a program ended. ``output`` is all of it, or the last lines if nothing was captured."""

    command: tuple[str, ...]
    returncode: int
    seconds: float
    output: str

    @property
    def tail(self) -> str:
        """The last lines of the output."""
        return "\n".join(self.output.splitlines()[-TAIL_LINES:])


@cache
def _dies_with_parent() -> tuple[str, ...]:
    setpriv = shutil.which("setpriv")
    return (setpriv, "--pdeathsig", "TERM", "--") if setpriv else ()


def remedy(program: str) -> str:
    """The command that installs ``program``."""
    package = _PACKAGES.get(Path(program).name)
    return f"sudo apt-get install {package}" if package else "make setup"


def search_path() -> str:
    """Where programs are looked for."""
    return os.environ.get("PATH", os.defpath)


def find(program: str | Path) -> Path:
    """The absolute path of an executable. Raises ProgramMissing when there is none."""
    found = shutil.which(str(program))
    if found is None:
        raise ProgramMissing(str(program), remedy(str(program)))
    return Path(found).absolute()


@dataclass
class _Sink:
    """Takes the bytes of a stream, hands on its lines, keeps what is asked for."""

    log: IO[bytes] | None
    on_line: Callable[[str], None] | None
    capture: bool
    chunks: list[bytes] = field(default_factory=list)
    tail: deque[str] = field(default_factory=lambda: deque(maxlen=TAIL_LINES))
    pending: bytes = b""
    signs: Signs = field(default_factory=Signs)

    def feed(self, data: bytes) -> None:
        if self.log is not None:
            self.log.write(data)
        if self.capture:
            self.chunks.append(data)
        *lines, self.pending = (self.pending + data).split(b"\n")
        for line in lines:
            self._line(line)

    def finish(self) -> None:
        if self.pending:
            self._line(self.pending)
        self.pending = b""

    def _line(self, raw: bytes) -> None:
        line = raw.decode("utf-8", "replace").rstrip("\r")
        self.tail.append(line)
        self.signs.read(line)
        if self.on_line is not None:
            self.on_line(line)

    def text(self) -> str:
        if not self.capture:
            return "\n".join(self.tail)
        return b"".join(self.chunks).decode("utf-8", "replace")


def run(
    command: Sequence[str | Path],
    *,
    log: Path | None = None,
    timeout: float | None,
    cwd: Path | None = None,
    env: Mapping[str, str | None] | None = None,
    on_line: Callable[[str], None] | None = None,
    input: str | bytes | None = None,
    capture: bool = True,
    check: bool = True,
    merge: bool = True,
) -> Completed:
    """Run ``command`` to its end and return what it printed.

    log: file that gets the command line (first line) and all output; its folder is created.
    timeout: seconds until the program and its children are killed; None is for ever. Those in which
        the program itself waited for a processor of a busy machine do not count.
    env: variables set on top of kernsmith's own environment; None removes one. LC_ALL is C.UTF-8.
    on_line: called with every line of output (without its end) as it comes.
    input: what the program reads on standard input (else nothing).
    capture: False keeps only the last lines: for output that is large.
    check: False returns a failed program's Completed instead of raising.
    merge: False leaves standard error out of ``output`` and ``on_line`` (it goes to the log, and
        into the message of a failure).

    Raises ProgramMissing, ProcessFailed, ProcessTimedOut, Interrupted (see `kernsmith.stop`), and
    DiskFull when the log cannot be written or the program failed for want of space.
    """
    words = tuple(str(word) for word in command)
    stop = current()
    stop.check()
    if shutil.which(words[0], path=_environment(env).get("PATH")) is None:
        raise ProgramMissing(words[0], remedy(words[0]))
    began = time.monotonic()
    with contextlib.ExitStack() as stack:
        try:
            file = stack.enter_context(_log_file(log, words, cwd)) if log else None
            output = _Sink(file, on_line, capture)
            errors = output if merge else _Sink(file, None, False)
            process = stack.enter_context(_started(words, cwd, env, input, merge))
            with stop.watching(process):
                _drain(process, output, errors, _Limit(process.pid, began, timeout), stop)
            if file is not None:
                file.flush()
        except TimeoutError:
            assert timeout is not None
            raise ProcessTimedOut(words, timeout, "\n".join(errors.tail), log) from None
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise DiskFull(log or tempfile.gettempdir()) from None
            raise
    done = Completed(words, process.returncode, time.monotonic() - began, output.text())
    if not done.returncode:
        return done
    signs = (output.signs, errors.signs)
    folders = [*([log.parent] if log else []), cwd or Path()]
    if full := full_disk(done.returncode, signs, folders, asked=check):
        raise DiskFull(full)
    if check:
        tail, killed = "\n".join(errors.tail or output.tail), is_killed(done.returncode, signs)
        raise ProcessFailed(words, done.returncode, tail, log, killed=killed)
    return done


def _environment(extra: Mapping[str, str | None] | None) -> dict[str, str]:
    env = {name: value for name, value in os.environ.items() if name not in _FROM_MAKE}
    env["LC_ALL"] = "C.UTF-8"
    for name, value in (extra or {}).items():
        if value is None:
            env.pop(name, None)
        else:
            env[name] = value
    return env


@contextlib.contextmanager
def _log_file(log: Path, words: tuple[str, ...], cwd: Path | None) -> Iterator[IO[bytes]]:
    log.parent.mkdir(parents=True, exist_ok=True)
    where = f"  # in {cwd}" if cwd else ""
    # Unbuffered: what was printed is in the log even if kernsmith is killed.
    with log.open("wb", buffering=0) as file:
        file.write(f"$ {join(words)}{where}\n".encode())
        yield cast("IO[bytes]", file)


@contextlib.contextmanager
def _started(
    words: tuple[str, ...],
    cwd: Path | None,
    env: Mapping[str, str | None] | None,
    input: str | bytes | None,
    merge: bool,
) -> Iterator["subprocess.Popen[bytes]"]:
    with contextlib.ExitStack() as stack:
        stdin: int | IO[bytes] = subprocess.DEVNULL
        if input is not None:
            stdin = stack.enter_context(tempfile.TemporaryFile())
            stdin.write(input.encode() if isinstance(input, str) else input)
            stdin.seek(0)
        process = subprocess.Popen(
            [*_dies_with_parent(), *words],
            cwd=cwd,
            env=_environment(env),
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if merge else subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
        try:
            yield process
        except BaseException:
            _end_group(process)
            raise
        finally:
            for stream in (process.stdout, process.stderr):
                if stream is not None:
                    stream.close()


@dataclass(frozen=True)
class _Limit:
    """When a program's time is over: so many seconds after it began, if any."""

    pid: int
    began: float
    seconds: float | None

    def wait(self) -> float:
        """How long to wait until this is asked again. TimeoutError: it is over."""
        if self.seconds is None:
            return 1.0
        left = self.began + self.seconds - time.monotonic()
        if left <= 0:
            left += _starved(self.pid)
        if left <= 0:
            raise TimeoutError
        return min(left, 1.0)


def _starved(pid: int) -> float:
    """Seconds that a thread of a process, the one that had to most, waited for a processor
    (Documentation/scheduler/sched-stats.rst, /proc/PID/schedstat); 0 where that is not told."""
    waited = 0.0
    with contextlib.suppress(OSError, ValueError, IndexError):
        for told in Path(f"/proc/{pid}/task").glob("*/schedstat"):
            waited = max(waited, int(told.read_text(encoding="ascii").split()[1]) / 1e9)
    return waited


def _drain(
    process: "subprocess.Popen[bytes]",
    output: _Sink,
    errors: _Sink,
    limit: _Limit,
    stop: Stop,
) -> None:
    """Read both streams to their end and wait for the program. TimeoutError at its limit."""
    with selectors.DefaultSelector() as selector:
        selector.register(cast("IO[bytes]", process.stdout), selectors.EVENT_READ, output)
        if process.stderr is not None:
            selector.register(process.stderr, selectors.EVENT_READ, errors)
        while selector.get_map():
            # Asked first: what it printed before it ended is in the stream.
            ended = process.poll() is not None
            ready = selector.select(limit.wait())
            stop.check()
            if not ready and ended:
                break  # a child that stays in the background keeps the stream open
            for key, _ in ready:
                data = os.read(key.fd, _CHUNK)
                if data:
                    cast("_Sink", key.data).feed(data)
                else:
                    selector.unregister(key.fileobj)
    output.finish()
    if errors is not output:
        errors.finish()
    while process.poll() is None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(limit.wait())
        stop.check()


def _end_group(process: "subprocess.Popen[bytes]") -> None:
    """End a program and its children: politely, so that make removes half-made files; then not."""
    for sign, patience in ((signal.SIGTERM, _GRACE_SECONDS), (signal.SIGKILL, None)):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, sign)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(patience)
