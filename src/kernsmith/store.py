# SPDX-License-Identifier: GPL-2.0-or-later
"""The store: where kernels, layouts, traces, profiles and consoles are kept, by key.

A key is a path below the store's root with `/` between its words
(`kernels/5f2a…/layouts/random-1c…`). It is what digests, rows of ledgers and pieces of work hold,
and means the same on every machine that has a store. A store is a local folder today; whoever has
only a key asks `Store.path`, and whoever has only a path asks `Store.key`, so that another kind of
place is a change to this file.

All but the ledger can be made again, and may be removed at any time that nobody uses it.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO
from uuid import uuid4

from kernsmith import paths
from kernsmith.errors import UserError
from kernsmith.files import USED, space_for, use


@dataclass(frozen=True)
class Entry:
    """Something that the store holds and that can be removed by itself.

    kind: one of `KINDS`. size: bytes on the disk. used: when it was last written, in seconds since
        1970.
    """

    kind: str
    key: str
    size: int
    used: float


@dataclass(frozen=True)
class Store:
    """A folder of keyed things. root: absolute."""

    root: Path

    def path(self, key: str) -> Path:
        """Where the thing with this key is or will be.

        Raises:
            UserError: a key that leads out of the store.
        """
        words = PurePosixPath(key)
        if words.is_absolute() or ".." in words.parts or not words.parts:
            raise UserError(f"{key!r} is no key of the store in {self.root}")
        return self.root / words

    def key(self, path: Path) -> str:
        """The key of a thing that lies in the store.

        Raises:
            UserError: it lies elsewhere.
        """
        if not path.is_relative_to(self.root):
            raise UserError(f"{path} is not in the store in {self.root}")
        return path.relative_to(self.root).as_posix()

    def entries(self, kinds: Iterable[str] = ()) -> Iterator[Entry]:
        """What the store holds of these kinds, or of all; in the order of `KINDS`, then by key. So
        is what a process that was killed has left behind, once nobody has written to it for a
        day."""
        wanted = set(kinds) or set(KINDS)
        for kind, pattern in KINDS.items():
            for path in sorted(self.root.glob(pattern)) if kind in wanted else ():
                if path.name in _NO_ENTRY or path.suffix in _BESIDE:
                    continue
                with suppress(FileNotFoundError):  # removed just now
                    size, used = _extent(path, _inner(kind))
                    if not path.name.startswith(".") or used < time.time() - _LEFT_SECONDS:
                        yield Entry(kind, self.key(path), size, used)

    def remove(self, entry: Entry) -> bool:
        """Remove a thing with all that is in it; False when somebody is using it, or this user may
        not remove it."""
        path = self.path(entry.key)
        try:
            with _unused(path) as free:
                if free:
                    _delete(path)
        except OSError as error:
            if error.errno not in _FORBIDDEN:
                raise
            return False
        return free

    def shrink(self, kind: str, most: int) -> None:
        """Remove what has not been used for longest, and is not in use, until no more than `most`
        bytes of a kind are left."""
        entries = sorted(self.entries((kind,)), key=lambda entry: entry.used)
        size = sum(entry.size for entry in entries)
        for entry in entries:
            if size <= most:
                return
            size -= entry.size if self.remove(entry) else 0


def local_store() -> Store:
    """The store of this machine."""
    return Store(paths.cache_root())


def new_consoles() -> Path:
    """A new folder for the consoles of runs. It is nobody else's, and in use until this process
    ends. Raises DiskFull."""
    folder = paths.cache_root() / "runs" / uuid4().hex[:12]
    with space_for(folder):
        folder.mkdir(parents=True)
    use(folder)
    return folder


KINDS = {
    "kernels": "kernels/*",
    "layouts": "kernels/*/layouts/*",
    "traces": "kernels/*/traces/*",
    "profiles": "kernels/*/profiles/*",
    "program-traces": "programs/traces/*",
    "consoles": "runs/*/*",
    "sources": "sources/*",
    "compile-cache": "ccache",
    "toolchains": "toolchains/*",
    "roots": "roots/*",
    "snapshots": "snapshots/*",
    "answers": "probes",
}
"""What can be shown and removed, and where it lies. A kernel's own size is without its layouts,
traces and profiles, which go with it."""


# Locks, and what is written beside a thing: not things themselves.
_NO_ENTRY = frozenset({"lock", "locks", USED})
_BESIDE = frozenset({".lock", ".log"})
_PART = ".part"
_FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)
# Half-written things have names that begin with a dot; of a process that was killed, for ever.
_LEFT_SECONDS = 86_400.0


def _inner(kind: str) -> frozenset[str]:
    return frozenset({"layouts", "traces", "profiles"} if kind == "kernels" else ())


def _extent(path: Path, without: frozenset[str]) -> tuple[int, float]:
    """Bytes on the disk, hard links counted once, and the latest change of what `path` holds. Of a
    link to a folder, what that holds.

    Raises:
        FileNotFoundError: it is gone.
    """
    status = path.lstat()
    if not path.is_dir():
        return status.st_blocks * 512, status.st_mtime
    size, used = 0, status.st_mtime
    seen: set[int] = set()
    for folder, inner, names in os.walk(path):
        if Path(folder) == path:
            inner[:] = [name for name in inner if name not in without]
        for name in names:
            with suppress(FileNotFoundError):  # of who is writing now
                status = os.lstat(Path(folder) / name)
                if status.st_ino not in seen:
                    seen.add(status.st_ino)
                    size += status.st_blocks * 512
                used = max(used, status.st_mtime)
    return size, used


def _locks(path: Path) -> Iterator[Path]:
    """Where who uses a thing, or makes it, holds a lock; or uses all that it is a part of."""
    made = path.with_name(path.name.removesuffix(_PART))
    yield from (path / "lock", path / USED, *path.glob("*.lock"))
    yield from (path.with_name(f".{path.name}.lock"), path.with_suffix(".lock"))
    yield from (path.with_name("lock"), path.parent / "locks" / made.name)
    # Of a kernel with its layouts, and of the consoles of a process.
    yield from (path.parent.parent / USED, path.with_name(USED), *path.glob("*/lock"))


@contextmanager
def _unused(path: Path) -> Iterator[bool]:
    """Whether nobody holds a lock in or for a thing; until the end nobody else gets one."""
    held = []
    try:
        for lock in filter(Path.is_file, _locks(path)):
            held.append(_opened(lock))
            fcntl.flock(held[-1], fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield True
    except BlockingIOError:
        yield False
    finally:
        for file in held:
            file.close()


def _opened(lock: Path) -> IO[str]:
    """Some file systems (NFS) lock what may be written to only; others what may be read."""
    try:
        return lock.open("r+")
    except OSError as error:
        if error.errno not in _FORBIDDEN:
            raise
        return lock.open("r")


def _delete(path: Path) -> None:
    """A folder disappears at once and is emptied afterwards: no one finds half of it. Where a link
    leads to a folder, the user has put it there: that is emptied, and stays."""
    if path.is_symlink() and path.is_dir():
        for inner in path.iterdir():
            _delete(inner)
        return
    if not path.is_dir():
        path.unlink(missing_ok=True)
        return
    doomed = path.with_name(f".removed.{path.name}.{os.getpid()}")
    path.replace(doomed)
    try:
        shutil.rmtree(doomed)
    except PermissionError:  # unpacked sources may hold folders without the right to write
        _open(doomed)
        shutil.rmtree(doomed)


def _open(folder: Path) -> None:
    """Let the user into a folder and all that are in it."""
    folder.chmod(0o700)
    with os.scandir(folder) as found:
        for entry in found:
            if entry.is_dir(follow_symlinks=False):
                _open(Path(entry.path))
