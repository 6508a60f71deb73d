# SPDX-License-Identifier: GPL-2.0-or-later
"""A disk that UEFI boots: a GUID partition table with a system partition, and the root behind it.

The format is that of the UEFI specification 2.10, 5.3. Identifiers are the same each time: there
is no other disk beside it.
"""

from __future__ import annotations

import shutil
import struct
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID
from zlib import crc32

from kernsmith.proof.master_boot_record import FIRST, SECTOR

SYSTEM = UUID("c12a7328-f81f-11d2-ba4b-00a0c93ec93b")
"""The type of the partition that firmware looks for boot loaders in."""
ROOT = UUID("4f68bce3-e8cd-4db1-96e7-fbcaf984b709")
"""The type of a root file system for x86-64 (Discoverable Partitions Specification)."""

_DISK = UUID("6b65726e-736d-4974-8000-000000000000")
_ENTRIES, _ENTRY = 128, 128
_TABLE = _ENTRIES * _ENTRY // SECTOR
_HEADER = 92
_PROTECTIVE = 0xEE


@dataclass(frozen=True)
class Part:
    """A partition. kind: its type. first, last: sectors. name: up to 36 letters."""

    kind: UUID
    first: int
    last: int
    name: str

    def entry(self, number: int) -> bytes:
        """Its entry in the table."""
        own = UUID(int=_DISK.int + number)
        return struct.pack(
            "<16s16sQQQ72s", self.kind.bytes_le, own.bytes_le, self.first, self.last, 0,
            self.name.encode("utf-16-le"),
        )  # fmt: skip


def tables(parts: list[Part], sectors: int) -> tuple[bytes, bytes]:
    """What a disk of so many sectors begins with, and what it ends with."""
    entries = b"".join(part.entry(number) for number, part in enumerate(parts, start=1))
    entries = entries.ljust(_ENTRIES * _ENTRY, b"\0")
    first, last = 2 + _TABLE, sectors - _TABLE - 2

    def header(here: int, there: int, table: int) -> bytes:
        def packed(check: int) -> bytes:
            return struct.pack(
                "<8sIIIIQQQQ16sQIII", b"EFI PART", 0x10000, _HEADER, check, 0, here, there, first,
                last, _DISK.bytes_le, table, _ENTRIES, _ENTRY, crc32(entries),
            )  # fmt: skip

        return packed(crc32(packed(0))).ljust(SECTOR, b"\0")

    # An entry over the whole disk, so that who knows no such table finds no room on it.
    whole = struct.pack(
        "<B3sB3sII", 0, b"\0\2\0", _PROTECTIVE, b"\xff\xff\xff", 1, min(sectors - 1, 2**32 - 1)
    )
    record = bytes(446) + whole.ljust(64, b"\0") + b"\x55\xaa"
    start = record + header(1, sectors - 1, 2) + entries
    return start, entries + header(sectors - 1, 1, sectors - 1 - _TABLE)


def write_disk(disk: Path, system: Path, filesystem: Path) -> None:
    """Write a disk with two partitions. system: what the firmware reads; filesystem: the root."""
    sizes = [-(-path.stat().st_size // SECTOR) for path in (system, filesystem)]
    root = -(-(FIRST + sizes[0]) // FIRST) * FIRST
    sectors = root + sizes[1] + _TABLE + 1
    parts = [
        Part(SYSTEM, FIRST, FIRST + sizes[0] - 1, "EFI system"),
        Part(ROOT, root, root + sizes[1] - 1, "root"),
    ]
    start, end = tables(parts, sectors)
    with disk.open("wb") as file:
        file.write(start)
        for first, path in ((FIRST, system), (root, filesystem)):
            file.seek(first * SECTOR)
            with path.open("rb") as content:
                shutil.copyfileobj(content, file, 16 << 20)
        file.seek(sectors * SECTOR - len(end))
        file.write(end)
