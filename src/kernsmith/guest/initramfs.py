# SPDX-License-Identifier: GPL-2.0-or-later
"""The guest's root file system: a `newc` cpio archive that the kernel unpacks at boot.

Format: Documentation/driver-api/early-userspace/buffer-format.rst in the kernel source.
It is not compressed: unpacking would only make every boot longer.
"""

import hashlib
import os
import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernsmith import paths
from kernsmith.errors import UserError
from kernsmith.files import write_bytes

_MAGIC = b"070701"
_END = "TRAILER!!!"
_HEADER = 110
_DIRECTORIES = ("dev", "proc", "run", "sys", "tmp")


@dataclass(frozen=True)
class _Entry:
    name: str
    mode: int
    data: bytes = b""
    device: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class Member:
    """A file beside ``/init``, or a folder: its path from the root, and its content; a folder has
    none."""

    name: str
    content: bytes | None = None
    executable: bool = False

    def entry(self) -> _Entry:
        if self.content is None:
            return _Entry(self.name, stat.S_IFDIR | 0o755)
        mode = 0o755 if self.executable else 0o644
        return _Entry(self.name, stat.S_IFREG | mode, self.content)


def build_initramfs(init: Path, members: Sequence[Member] = ()) -> bytes:
    """The archive with ``init`` as ``/init``; equal bytes for equal programs, whenever it is made.

    members: what else is in it, folders before what is in them.

    Besides it: ``/dev/console`` and ``/dev/null`` (the kernel opens the first one for ``/init``
    before anything is mounted), and empty folders to mount on. Owner is root, every time stamp 0.

    Raises:
        UserError: ``init`` is not there or cannot be read.
    """
    entries = [
        *(_Entry(name, stat.S_IFDIR | 0o755) for name in _DIRECTORIES),
        _Entry("dev/console", stat.S_IFCHR | 0o600, device=(5, 1)),
        _Entry("dev/null", stat.S_IFCHR | 0o666, device=(1, 3)),
        _Entry("init", stat.S_IFREG | 0o755, read_program(init)),
        *(member.entry() for member in members),
    ]
    return _archive(entries)


def read_program(path: Path) -> bytes:
    """A guest program. Raises UserError: it is not there or cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise UserError(
            f"the guest program {path} cannot be read ({error.strerror}); build it with: make setup"
        ) from None


def build_layer(folder: str, programs: Mapping[str, bytes], files: Mapping[str, bytes]) -> bytes:
    """An archive to put behind another one: a folder, with programs and other files in it.

    The kernel unpacks one archive after the other, as if they were one.
    """
    entries = [_Entry(folder, stat.S_IFDIR | 0o755)]
    for mode, contents in ((0o755, programs), (0o644, files)):
        entries += [
            _Entry(f"{folder}/{name}", stat.S_IFREG | mode, data) for name, data in contents.items()
        ]
    return _archive(entries)


def build_members(members: Sequence[Member]) -> bytes:
    """An archive to put behind another one: folders before what is in them."""
    return _archive([member.entry() for member in members])


def with_program(archive: bytes, name: str, program: bytes) -> bytes:
    """An archive with another program in the place of one that it has: the last one of a name is
    what the kernel unpacks. name: its path from the root."""
    return archive + _archive([_Entry(name, stat.S_IFREG | 0o755, program)])


def taken_out(archive: bytes, folder: str) -> tuple[bytes, bytes]:
    """An archive without what is in a folder of its root, and what that was: records, to which an
    end belongs (`closed`). The folder itself stays.

    Raises:
        ValueError: it is no archive of this form.
    """
    rest, inside, at = b"", b"", 0
    while True:
        header = archive[at : at + _HEADER]
        if len(header) < _HEADER or header[: len(_MAGIC)] != _MAGIC:
            raise ValueError("no archive of the form newc")
        size, length = (int(header[place : place + 8], 16) for place in (54, 94))
        name = os.fsdecode(archive[at + _HEADER : at + _HEADER + length - 1])
        end = at + _up(_HEADER + length) + _up(size)
        if name == _END:
            return rest, inside
        if name.startswith(f"{folder}/"):
            inside += archive[at:end]
        else:
            rest += archive[at:end]
        at = end


def closed(records: bytes, members: Sequence[Member] = ()) -> bytes:
    """An archive of records and further members behind them."""
    return records + _archive([member.entry() for member in members])


def _archive(entries: Iterable[_Entry]) -> bytes:
    archive = b"".join(_member(inode, entry) for inode, entry in enumerate(entries, start=1))
    archive += _member(0, _Entry(_END, 0))
    return archive + b"\0" * (-len(archive) % 512)


def kept_initramfs(archive: bytes, name: str) -> Path:
    """Where an archive lies for the machine to boot with: in a folder that its digest names."""
    kept = paths.pinned() / digest(archive) / f"{name}.cpio"
    if not kept.exists():
        write_bytes(kept, archive)
    return kept


def digest(archive: bytes) -> str:
    """SHA-256 of an archive, in hexadecimal: what a run names as its guest."""
    return hashlib.sha256(archive).hexdigest()


def _member(inode: int, entry: _Entry) -> bytes:
    name = os.fsencode(entry.name) + b"\0"
    links = 2 if stat.S_ISDIR(entry.mode) else 1
    owner = group = modified = major = minor = checksum = 0
    fields = (
        inode,
        entry.mode,
        owner,
        group,
        links,
        modified,
        len(entry.data),
        major,
        minor,
        *entry.device,
        len(name),
        checksum,
    )
    header = _MAGIC + b"".join(b"%08x" % field for field in fields)
    return _padded(header + name) + _padded(entry.data)


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 4)


def _up(size: int) -> int:
    return (size + 3) & ~3
