# SPDX-License-Identifier: GPL-2.0-or-later
"""Files that several processes share: locks, and writing that shows a file whole or not at all.

A file is written under a name of its own beside its place, brought to the disk, and renamed: who
reads it meanwhile sees the old content, and whatever kills the writer, power failures included,
leaves the old content or the new one, never a part or an empty file.
"""

from __future__ import annotations

import errno
import fcntl
import itertools
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from kernsmith.errors import DiskFull, UserError

_count = itertools.count()


@contextmanager
def locked(path: Path, waiting: Callable[[], None] | None = None) -> Iterator[None]:
    """Hold an exclusive lock on a file, which is created with its folder; waits for other holders.

    waiting: called again and again meanwhile, where the wait may be long: it rests a while, or ends
        the wait by an exception.

    The system gives the lock back however the process ends. Raises DiskFull.
    """
    with space_for(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("w")
    with file:
        while waiting is not None and not _is_free(file):
            waiting()
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


USED = "used"
"""The lock of a folder that processes share which use what is in it."""
_using: dict[Path, IO[str]] = {}


def use(folder: Path) -> None:
    """Until this process ends, a folder of the caches is in use: `kernsmith prune` leaves it."""
    if folder in _using:
        return
    with suppress(OSError):  # of a folder that nobody may write to, nobody removes anything
        file = (folder / USED).open("w")
        fcntl.flock(file, fcntl.LOCK_SH)
        _using[folder] = file


@contextmanager
def using(folder: Path) -> Iterator[None]:
    """The same until the end of the block.

    Raises:
        FileNotFoundError: it is gone.
    """
    with (folder / USED).open("w") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        yield


def _is_free(file: IO[str]) -> bool:
    """Whether the lock is to be had now; it is held then."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Where to write what becomes `path` at the end of the block; its folder is created.

    The name given differs for every process, thread and call. When the block ends by an
    exception, or writes nothing, `path` stays as it was.

    Raises DiskFull; UserError when `path` is a folder; FileNotFoundError when the block has written
    nothing.
    """
    if path.is_dir():
        raise UserError(f"{path} is a folder: name the file that is to be written")
    name = f".{path.name}.{os.getpid()}-{threading.get_ident():x}-{next(_count)}"
    temporary = path.with_name(name)
    with space_for(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield temporary
            to_disk(temporary)
            temporary.replace(path)
        except OSError as error:
            if error.filename == str(temporary):  # of a name that nobody knows
                error.filename, error.filename2 = str(path), None
            raise
        finally:
            temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str, encoding: str = "utf-8") -> None:
    """Write a whole text file, or leave what was there. Raises DiskFull."""
    write_bytes(path, text.encode(encoding))


def write_bytes(path: Path, content: bytes) -> None:
    """Write a whole file, or leave what was there. Raises DiskFull."""
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def whole_lines(path: Path) -> list[str]:
    """The lines of a file that `append_line` writes; none where it is not there. A last one that a
    kill cut off is taken out of it."""
    if not path.exists():
        return []
    text = path.read_text(encoding="utf-8")
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        write_text(path, whole)
    return whole.splitlines()


def append_line(path: Path, line: str) -> None:
    """Put a line behind those of a file, and onto the disk. Raises DiskFull."""
    with space_for(path), path.open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")
        file.flush()
        os.fsync(file.fileno())


def copy_file(source: Path, target: Path) -> None:
    """Copy a file's content, all of it or nothing. Raises DiskFull."""
    with replacing(target) as temporary:
        shutil.copyfile(source, temporary)


@contextmanager
def space_for(path: Path) -> Iterator[None]:
    """The block writes to `path`: raises DiskFull where there is no space."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(path) from None
        raise


def to_disk(path: Path) -> None:
    """Bring a file's content to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
