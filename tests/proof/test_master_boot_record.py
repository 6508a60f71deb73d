# SPDX-License-Identifier: GPL-2.0-or-later
"""The disk that firmware boots: what is in which sector."""

import struct
from pathlib import Path

import pytest

from kernsmith.proof.master_boot_record import FIRST, SECTOR, master_boot_record, write_disk

BOOT = bytes(range(256)) + bytes(254) + b"\x55\xaa"


def test_the_table_has_one_active_partition_behind_the_gap() -> None:
    """The entry's format is that of every PC (GRUB: include/grub/msdos_partition.h)."""
    record = master_boot_record(BOOT, 4096)
    assert len(record) == SECTOR
    assert record[-2:] == b"\x55\xaa"
    active, kind = record[446], record[450]
    assert (active, kind) == (0x80, 0x83)
    assert struct.unpack_from("<II", record, 454) == (FIRST, 4096)
    assert record[462:510] == bytes(48)


def test_the_boot_sector_loads_the_one_behind_it() -> None:
    record = master_boot_record(BOOT, 1)
    assert struct.unpack_from("<Q", record, 0x5C) == (1,)
    assert record[:0x5C] == BOOT[:0x5C]


def test_a_disk_is_record_grub_and_file_system(tmp_path: Path) -> None:
    filesystem, disk = tmp_path / "root.ext4", tmp_path / "disk.img"
    filesystem.write_bytes(b"ext4" * 1000)
    write_disk(disk, BOOT, b"core" * 300, filesystem)
    content = disk.read_bytes()
    assert content[SECTOR : SECTOR + 1200] == b"core" * 300
    assert content[FIRST * SECTOR :].rstrip(b"\0") == b"ext4" * 1000
    assert len(content) == (FIRST + 8) * SECTOR
    assert struct.unpack_from("<I", content, 458) == (8,)


def test_what_is_no_grub_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not a boot sector"):
        master_boot_record(bytes(512), 1)
    (tmp_path / "root.ext4").write_bytes(b"x")
    with pytest.raises(ValueError, match="does not fit"):
        write_disk(tmp_path / "disk", BOOT, bytes(FIRST * SECTOR), tmp_path / "root.ext4")
