# SPDX-License-Identifier: GPL-2.0-or-later
"""A disk that a PC's firmware boots: a master boot record, GRUB in the gap behind it, a partition.

GRUB's boot.img is the first sector; it loads the second one, which is the first of core.img and
loads the rest of it (grub-core/boot/i386/pc/boot.S, diskboot.S). Both name sectors, which are by
default those where they are put here: no program has to look at a device.
"""

from __future__ import annotations

import shutil
import struct
from pathlib import Path

SECTOR = 512
FIRST = 2048
"""The sector that the partition begins at."""
LINUX = 0x83

_TABLE, _SIGNATURE = 446, b"\x55\xaa"
# GRUB_BOOT_MACHINE_KERNEL_SECTOR of include/grub/i386/pc/boot.h.
_NEXT_SECTOR = 0x5C
# Cylinder, head and sector of what lies behind them: the numbers of sectors count.
_NO_CHS = b"\xfe\xff\xff"


def master_boot_record(boot: bytes, sectors: int) -> bytes:
    """The first sector: GRUB's boot.img with a table of one active partition of so many sectors.

    Raises:
        ValueError: boot.img is none.
    """
    if len(boot) != SECTOR or boot[-2:] != _SIGNATURE:
        raise ValueError("GRUB's boot.img is not a boot sector")
    entry = struct.pack("<B3sB3sII", 0x80, _NO_CHS, LINUX, _NO_CHS, FIRST, sectors)
    table = entry.ljust(SECTOR - _TABLE - len(_SIGNATURE), b"\0")
    head = bytearray(boot[:_TABLE])
    struct.pack_into("<Q", head, _NEXT_SECTOR, 1)
    return bytes(head) + table + _SIGNATURE


def write_disk(disk: Path, boot: bytes, core: bytes, filesystem: Path) -> None:
    """Write a disk with GRUB and one partition.

    boot, core: GRUB's boot.img and core.img. filesystem: the partition's content.

    Raises:
        ValueError: GRUB does not fit in front of the partition.
    """
    if len(core) > (FIRST - 1) * SECTOR:
        raise ValueError("GRUB's core.img does not fit in front of the partition")
    size = filesystem.stat().st_size
    with disk.open("wb") as file:
        file.write(master_boot_record(boot, -(-size // SECTOR)))
        file.write(core)
        file.seek(FIRST * SECTOR)
        with filesystem.open("rb") as content:
            shutil.copyfileobj(content, file, 16 << 20)
        file.truncate(FIRST * SECTOR + -(-size // SECTOR) * SECTOR)
