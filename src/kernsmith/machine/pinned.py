# SPDX-License-Identifier: GPL-2.0-or-later
"""What runs depend on, pinned by content: whoever edits a file during a study changes no run of it.

A machine reads each file once, when it is opened; its fingerprint and all its boots are of what it
read then.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from kernsmith import paths, process
from kernsmith.errors import UserError
from kernsmith.files import write_bytes
from kernsmith.kernel.artifact import file_digest

_Stamp = tuple[int, int, int, int]
_known: dict[Path, _Stamp] = {}
"""Files that hold what they are named by, as they were when that was seen."""


@dataclass(frozen=True)
class Pinned:
    """A copy of a file that is named by its content.

    path: the copy; it keeps the name of the file. digest: SHA-256 of the content.
    """

    path: Path
    digest: str


def pin(content: bytes, name: str) -> Pinned:
    """Keep a content under its digest, as a file of this name. A file that is there and has
    another content is damaged, and written anew. Raises DiskFull."""
    digest = hashlib.sha256(content).hexdigest()
    path = paths.pinned() / digest / name
    if not _holds(path, content):
        write_bytes(path, content)
    return Pinned(path, digest)


def _holds(path: Path, content: bytes) -> bool:
    """Looked at as a whole only when a process first asks, or the file has changed since."""
    try:
        stamp = _stamp(path)
        if _known.get(path) != stamp:
            if path.read_bytes() != content:
                return False
            _known[path] = stamp
    except OSError:
        return False
    return True


def pin_file(path: Path) -> Pinned:
    """Keep what is in a file now.

    Raises:
        UserError: it cannot be read.
    """
    try:
        return pin(path.read_bytes(), path.name)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from None


@dataclass(frozen=True)
class PinnedProgram:
    """An installed program, which is too much to copy: it is looked at again before it is used.

    banner: the first line of `--version`. digest: SHA-256 of the program's file.
    """

    path: Path
    banner: str
    digest: str
    stamp: _Stamp

    def check(self) -> None:
        """Raises UserError when another program is there now. Looks only, while nothing moved."""
        try:
            same = _stamp(self.path) == self.stamp or file_digest(self.path) == self.digest
        except OSError:
            same = False
        if not same:
            raise UserError(
                f"{self.path} is not the program any more that the study has begun with; start "
                "the same command again"
            )


def pin_program(name: str, oldest: int) -> PinnedProgram:
    """The program of this name.

    Raises:
        UserError: it is not installed, or its version is below `oldest`.
    """
    path = process.find(name).resolve()
    stamp = _stamp(path)
    banner = process.run([path, "--version"], log=None, timeout=30).output.splitlines()[0]
    found = re.search(r"version (\d+)\.\S+", banner)
    if found is None or int(found[1]) < oldest:
        raise UserError(
            f"{name} must be of version {oldest} or newer; here is {banner!r}: get it with "
            "make setup"
        )
    return PinnedProgram(path, banner, file_digest(path), stamp)


def standing_digest(path: Path) -> str:
    """What `file_digest` says; the file is read again only where it has changed since it was."""
    return _digest(path, _stamp(path))


@lru_cache(maxsize=256)
def _digest(path: Path, stamp: _Stamp) -> str:
    return file_digest(path)


def _stamp(path: Path) -> _Stamp:
    status = path.stat()
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino
