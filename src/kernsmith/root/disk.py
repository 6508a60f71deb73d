# SPDX-License-Identifier: GPL-2.0-or-later
"""Whole disks, as clouds take them: which part of one is its root file system.

A disk is a raw file or a qcow2 image, with a partition table (GPT: UEFI 2.10, 5.3; or a master boot
record).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from kernsmith import process
from kernsmith.errors import ProcessFailed, ProgramMissing, UserError

SECTOR = 512
QCOW2 = b"QFI\xfb"

_GPT, _EXTENDED = b"EFI PART", (0x05, 0x0F, 0x85)
# The Discoverable Partitions Specification: the root of x86-64.
_ROOT = UUID("4f68bce3-e8cd-4db1-96e7-fbcaf984b709")
MOST_BYTES = 64 << 30
"""Of a disk, and of a root file system: what is not written in it counts, too."""

_MOST_ENTRIES, _PIECE = 1024, 1 << 20
_ENTRY_BYTES = range(128, 4097)
_CONVERT_SECONDS = 1800.0
# docs/interop/qcow2.txt of QEMU: version 3's incompatible features; data in a file beside it.
_EXTERNAL_DATA = 1 << 2


@dataclass(frozen=True)
class Partition:
    """A part of a disk. offset, size: in bytes. root: whether its type says that it is the root."""

    number: int
    offset: int
    size: int
    root: bool = False


def is_disk(start: bytes) -> bool:
    """Whether a file that begins so, which is no file system, is a disk."""
    return start[:4] == QCOW2 or start[510:512] == b"\x55\xaa"


def partitions(disk: Path) -> list[Partition]:
    """The partitions of a raw disk; none where there is no table."""
    size = disk.stat().st_size
    with disk.open("rb") as file:
        start = file.read(2 * SECTOR).ljust(2 * SECTOR, b"\0")
        if start[SECTOR : SECTOR + len(_GPT)] == _GPT:
            at, count, entry = struct.unpack_from("<QII", start, SECTOR + 72)
            if entry not in _ENTRY_BYTES:
                return []
            file.seek(min(at * SECTOR, size))
            table = file.read(min(count, _MOST_ENTRIES) * entry)
            found = list(_of_gpt(table, entry))
        else:
            found = list(_of_record(start)) if is_disk(start) else []
    return [each for each in found if 0 < each.offset < each.offset + each.size <= size]


def _of_gpt(table: bytes, entry: int) -> Iterator[Partition]:
    for number in range(len(table) // entry):
        kind = UUID(bytes_le=table[number * entry : number * entry + 16])
        first, last = struct.unpack_from("<QQ", table, number * entry + 32)
        if kind.int:
            sectors = last - first + 1
            yield Partition(number + 1, first * SECTOR, sectors * SECTOR, kind == _ROOT)


def _of_record(start: bytes) -> Iterator[Partition]:
    for number in range(4):
        kind, first, sectors = struct.unpack_from("<4xB3xII", start, 446 + 16 * number)
        if kind and kind not in _EXTENDED:
            yield Partition(number + 1, first * SECTOR, sectors * SECTOR)


def to_raw(image: Path, raw: Path) -> None:
    """Write a qcow2 image as a raw disk.

    Raises:
        UserError: it is damaged, too large, or takes its content from another file: a stranger's
            image would say which.
        ProgramMissing: qemu-img is not installed.
    """
    with image.open("rb") as file:
        header = file.read(104).ljust(104, b"\0")
    version, backing, _, _, size = struct.unpack_from(">IQIIQ", header, 4)
    features = struct.unpack_from(">Q", header, 72)[0] if version > 2 else 0
    if backing or features & _EXTERNAL_DATA:
        raise UserError(
            f"the root {image} takes its content from another file: make it whole with qemu-img "
            "convert"
        )
    check_size(image, size)
    command: list[str | Path] = ["qemu-img", "convert", "-f", "qcow2", "-O", "raw", image, raw]
    try:
        process.run(command, timeout=_CONVERT_SECONDS)
    except ProgramMissing:
        raise
    except ProcessFailed as failure:
        why = failure.tail.splitlines()
        raise UserError(f"the root {image} is damaged: {why[-1] if why else failure}") from None


def check_size(path: Path, size: int) -> None:
    """That a root file system, or a disk with one, is one that can be kept.

    Raises:
        UserError: it has more than `MOST_BYTES`.
    """
    if size > MOST_BYTES:
        raise UserError(f"the root {path} has {size >> 30} GiB: {MOST_BYTES >> 30} are allowed")


def take_out(disk: Path, partition: Partition, target: Path) -> None:
    """Copy a partition to a file, without the parts that are all zeros."""
    with disk.open("rb") as source, target.open("wb") as file:
        source.seek(partition.offset)
        left = partition.size
        while left and (piece := source.read(min(left, _PIECE))):
            left -= len(piece)
            if piece.count(0) == len(piece):
                file.seek(len(piece), 1)
            else:
                file.write(piece)
        file.truncate(partition.size)
