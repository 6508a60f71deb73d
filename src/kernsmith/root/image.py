# SPDX-License-Identifier: GPL-2.0-or-later
"""Images of root file systems, kept by their content.

A machine gives an image to its guest as a disk that nobody writes to. What is made here is a
squashfs that is not compressed: unpacking would only make every boot longer. Equal files give equal
images: sorted, with one time stamp for all of them, and numbers for owners.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import struct
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from kernsmith import paths, process
from kernsmith.errors import ProcessFailed, ProgramMissing, UserError
from kernsmith.files import locked, use, write_text
from kernsmith.root.appliance import OPENED, archive_files
from kernsmith.root.disk import (
    QCOW2,
    Partition,
    check_size,
    is_disk,
    partitions,
    take_out,
    to_raw,
)

Progress = Callable[[str, float | None], None]

ALIGNED = 16 << 20
"""Images are filled up with zeros to a multiple of this: they lie in memory as large pages."""
WRITTEN = 1_767_225_600
"""The time stamp of all files in images made here: 2026-01-01, when a guest's clock starts."""

_PACK_SECONDS = 1800.0
_MOST_LINKS = 100
_OPENED = "opened-"  # a note beside an image, with the digest of a file whose files it has
_NEEDS = {"squashfs": "CONFIG_SQUASHFS", "erofs": "CONFIG_EROFS_FS", "ext4": "CONFIG_EXT4_FS"}
_UNCOMPRESSED = ("-comp", "gzip", "-noI", "-noD", "-noF", "-noX")


@dataclass(frozen=True)
class RootImage:
    """A root file system as one file.

    path: the image, filled up to `ALIGNED`. filesystem: as mount(2) calls it.
    digest: SHA-256 of the file. programs: files that can be executed in the folders of programs,
        from the root (`usr/bin/sort`); None: this is not known.
    packages: Debian's packages in it, each with its version; empty: this is not known.
    """

    path: Path
    filesystem: str
    digest: str
    programs: frozenset[str] | None = None
    packages: tuple[tuple[str, str], ...] = ()

    @property
    def needs(self) -> tuple[str, ...]:
        """Config symbols without which a kernel cannot mount it."""
        return (
            "CONFIG_MTD_PHRAM", "CONFIG_MTD_BLOCK_RO", _NEEDS[self.filesystem],
            "CONFIG_OVERLAY_FS", "CONFIG_DEVTMPFS", "CONFIG_TMPFS",
        )  # fmt: skip

    def has(self, program: str) -> bool:
        """Whether a program is there, by its name or its path; True when that is not known."""
        if self.programs is None:
            return True
        if program.startswith("/"):
            name = program.lstrip("/")
            known = name.rpartition("/")[0] in FOLDERS
            return not known or name in self.programs or f"usr/{name}" in self.programs
        return any(each.rpartition("/")[2] == program for each in self.programs)


FOLDERS = (
    "usr/local/sbin", "usr/local/bin", "usr/sbin", "usr/bin", "sbin", "bin",
)  # fmt: skip
"""Where a guest looks for programs (guest/own/own.c)."""


def roots() -> Path:
    """Where images are kept."""
    return paths.cache_root() / "roots"


def root_of(path: Path) -> RootImage:
    """The root file system that a user has: a folder, an image of squashfs, erofs or ext4, or a
    disk with such a partition, raw or qcow2. Of xfs, btrfs and LVM the files are taken out.

    A copy of it is kept by its content: who changes it later changes no run.

    Raises:
        UserError: it cannot be read, is none of these, or no program here makes images.
    """
    if path.is_dir():
        return _of_folder(path)
    start = _start(path)
    kind = filesystem_of(start) or foreign(path)
    with unfinished("image") as part:
        try:
            if kind in _NEEDS:
                check_size(path, path.stat().st_size)
                shutil.copyfile(path, part)
            elif is_disk(start):
                kind = _of_disk(path, start, part)
        except OSError as error:
            raise UserError(f"cannot read the root {path}: {error.strerror}") from None
        if kind in _NEEDS:
            return keep(part, kind)
    if kind in OPENED:
        return _opened(path, start)
    raise UserError(
        f"the root {path} is neither a folder nor an image of squashfs, erofs or ext4, nor "
        f"a disk with one{_instead(kind)}"
    )


def _of_disk(path: Path, start: bytes, part: Path) -> str:
    """Copy the root of a disk. Which one: what its type calls so, else the largest. Returns what
    it is; of what no guest mounts nothing is copied."""
    with unfinished("disk") as raw:
        if start[:4] == QCOW2:
            to_raw(path, raw)
        disk = raw if start[:4] == QCOW2 else path
        found = partitions(disk)
        if start[:4] == QCOW2 and not found:
            found = [Partition(0, 0, disk.stat().st_size)]
        known = [
            (each, kind)
            for each in found
            if (kind := filesystem_of(_start(disk, each.offset)) or foreign(disk, each.offset))
        ]
        chosen, kind = max(known, key=lambda each: (each[0].root, each[0].size), default=(None, ""))
        if chosen is None or kind not in (*_NEEDS, *OPENED):
            raise UserError(
                f"the root {path} is a disk without a partition of squashfs, erofs or ext4 "
                f"(it has {len(found)}{_instead(kind)})"
            )
        if kind in _NEEDS:
            check_size(path, chosen.size)
            take_out(disk, chosen, part)
    return kind


def _opened(path: Path, start: bytes) -> RootImage:
    """An image of the files that another program takes out of a disk or a file system; it is made
    once for a content."""
    with path.open("rb") as file:
        content = hashlib.file_digest(file, "sha256").hexdigest()
    for note in roots().glob(f"*/{_OPENED}{content}"):
        use(note.parent)
        return RootImage(note.with_name("root.squashfs"), "squashfs", note.parent.name)
    log = roots() / "opened.log"
    with unfinished("disk") as raw, unfinished("archive") as archive, unfinished("image") as part:
        if start[:4] == QCOW2:
            to_raw(path, raw)
        disk = raw if start[:4] == QCOW2 else path
        check_size(path, disk.stat().st_size)
        archive_files(path, disk, archive, log)
        pack(archive, part, log)
        image = keep(part, "squashfs")
    write_text(image.path.with_name(f"{_OPENED}{content}"), f"{path}\n")
    return image


def _start(path: Path, offset: int = 0) -> bytes:
    """What tells a file system. Raises UserError: the file cannot be read."""
    try:
        with path.open("rb") as file:
            file.seek(offset)
            return file.read(2048).ljust(2048, b"\0")
    except OSError as error:
        raise UserError(f"cannot read the root {path}: {error.strerror}") from None


def filesystem_of(start: bytes) -> str:
    """Which file system begins so, by its magic number; empty: none that a guest mounts.

    Of squashfs: Documentation/filesystems/squashfs.rst. Of erofs: fs/erofs/erofs_fs.h. Of ext4:
    Documentation/filesystems/ext4/super.rst.
    """
    if start[:4] == b"hsqs":
        return "squashfs"
    if struct.unpack_from("<I", start, 1024)[0] == 0xE0F5E1E2:
        return "erofs"
    if struct.unpack_from("<H", start, 1024 + 0x38)[0] == 0xEF53:
        return "ext4"
    return ""


def foreign(path: Path, offset: int = 0) -> str:
    """What there is that no guest mounts here, by its magic numbers; empty: nothing that is known.

    Documentation/filesystems/xfs, fs/btrfs (`BTRFS_MAGIC` in the superblock at 64 KiB), the LUKS
    specification, and LVM2's label in one of the first four sectors.
    """
    try:
        with path.open("rb") as file:
            file.seek(offset)
            start = file.read(65_536 + 4096)
    except OSError:
        return ""
    labels = (start[at : at + 8] for at in range(0, 2048, 512))
    found = {
        "xfs": start[:4] == b"XFSB",
        "btrfs": start[65_600:65_608] == b"_BHRfS_M",
        "LUKS": start[:6] == b"LUKS\xba\xbe",
        "LVM": b"LABELONE" in labels,
    }
    return next((name for name, there in found.items() if there), "")


def _instead(kind: str) -> str:
    """What stands there in place of a root, and what to do."""
    return f": {kind}, whose files can be given as a folder" if kind else ""


def pack(archive: Path, image: Path, log: Path) -> None:
    """Write a squashfs with what is in a tar archive. Raises ProcessFailed, ProgramMissing."""
    process.find("sqfstar")
    image.unlink(missing_ok=True)
    words = [
        *_as_root(), "sqfstar", "-quiet", "-no-progress", *_UNCOMPRESSED,
        "-mkfs-time", str(WRITTEN), "-all-time", str(WRITTEN), "-root-mode", "755",
    ]  # fmt: skip
    shell: list[str | Path] = [
        "sh",
        "-c",
        'archive=$1; shift; exec "$@" < "$archive"',
        "sh",
        archive,
        *words,
        image,
    ]
    process.run(shell, log=log, timeout=_PACK_SECONDS)


def _as_root() -> tuple[str, ...]:
    """What makes a program root among its own: sqfstar 4.5 gives the root folder to who calls it,
    whatever `-root-uid` says, and images are to be equal whoever makes them."""
    if os.geteuid() == 0:
        return ()
    alone = ("unshare", "--user", "--map-root-user")
    try:
        process.run([*alone, "true"], log=None, timeout=30)
    except (ProcessFailed, ProgramMissing):
        return ()
    return alone


def keep(part: Path, kind: str) -> RootImage:
    """Fill an image up, and move it to where its digest says."""
    size = part.stat().st_size
    os.truncate(part, -(-size // ALIGNED) * ALIGNED)
    with part.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    kept = roots() / digest / f"root.{kind}"
    with locked(kept.with_name("lock")):
        if not kept.exists():
            part.replace(kept)
    use(kept.parent)
    return RootImage(kept, kind, digest)


@contextmanager
def unfinished(name: str) -> Iterator[Path]:
    """A file of its own among the images; nothing of it is left when it was not kept."""
    roots().mkdir(parents=True, exist_ok=True)
    descriptor, path = tempfile.mkstemp(prefix=f".{name}-", dir=roots())
    os.close(descriptor)
    try:
        yield Path(path)
    finally:
        Path(path).unlink(missing_ok=True)


def _of_folder(folder: Path) -> RootImage:
    with unfinished("archive") as archive, unfinished("image") as part:
        log = roots() / "folder.log"
        command: list[str | Path] = [
            "tar", "--create", "--file", archive, "--sort=name", "--numeric-owner",
            "--format=gnu",
            "--directory", folder, ".",
        ]  # fmt: skip
        try:
            process.run(command, log=log, timeout=_PACK_SECONDS)
            pack(archive, part, log)
        except ProgramMissing:
            raise
        except ProcessFailed as failure:
            why = failure.tail.splitlines()
            raise UserError(
                f"the folder {folder} cannot be made an image: {why[0] if why else failure} "
                f"(log: {log})"
            ) from None
        return replace(keep(part, "squashfs"), programs=frozenset(_programs(folder)))


def _programs(folder: Path) -> Iterator[str]:
    """What can be executed in the folders of programs, by the names of all that lead there; links
    to programs are believed."""
    for name in FOLDERS:
        inner = _followed(folder, name)
        if inner is not None and inner.is_dir():
            for path in inner.iterdir():
                if path.is_symlink() or (path.is_file() and path.stat().st_mode & 0o111):
                    yield f"{name}/{path.name}"


def _followed(root: Path, name: str) -> Path | None:
    """A folder of a root, through links as a guest sees them: none leads out of the root."""
    root = root.resolve()
    left, found = list(reversed(Path(name).parts)), root
    for _ in range(_MOST_LINKS):
        if not left:
            return found
        word = left.pop()
        inner = found / word
        if word == "..":
            found = found.parent if found != root else root
        elif inner.is_symlink():
            target = inner.readlink()
            found = root if target.is_absolute() else found
            left += reversed(target.parts[1:] if target.is_absolute() else target.parts)
        else:
            found = inner
    return None
