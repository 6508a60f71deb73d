# SPDX-License-Identifier: GPL-2.0-or-later
"""The disk that UEFI boots: its tables say what they must, and a reader of disks finds the root."""

import struct
from pathlib import Path
from zlib import crc32

import pytest

from kernsmith.proof.guid_partition_table import ROOT, SYSTEM, write_disk
from kernsmith.proof.master_boot_record import FIRST, SECTOR
from kernsmith.root.disk import partitions


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    system, root, disk = (tmp_path / name for name in ("system", "root", "disk"))
    system.write_bytes(b"system" * 1000)
    root.write_bytes(b"root" * 300_000)
    write_disk(disk, system, root)
    return disk


def test_both_headers_agree_and_their_sums_are_right(disk: Path) -> None:
    content = disk.read_bytes()
    assert len(content) % SECTOR == 0
    last = len(content) // SECTOR - 1
    entries = []
    for here, there in ((1, last), (last, 1)):
        header = bytearray(content[here * SECTOR : here * SECTOR + 92])
        fields = struct.unpack("<8sIIIIQQQQ16sQIII", header)
        assert fields[0] == b"EFI PART"
        assert fields[5:7] == (here, there)
        header[16:20] = bytes(4)
        assert fields[3] == crc32(header)
        table = content[fields[10] * SECTOR :][: fields[11] * fields[12]]
        assert fields[13] == crc32(table)
        assert fields[7] == 34 and fields[8] == last - 33
        entries.append(table)
    assert entries[0] == entries[1]


def test_who_knows_no_such_table_sees_a_full_disk(disk: Path) -> None:
    content = disk.read_bytes()
    assert content[510:512] == b"\x55\xaa"
    assert content[450] == 0xEE
    assert struct.unpack_from("<II", content, 454) == (1, len(content) // SECTOR - 1)


def test_a_reader_of_disks_finds_the_root(disk: Path) -> None:
    """That of `root.disk`, which reads what clouds make."""
    system, root = partitions(disk)
    assert (system.root, root.root) == (False, True)
    assert system.offset == FIRST * SECTOR
    content = disk.read_bytes()
    assert content[system.offset :].startswith(b"system" * 1000)
    assert content[root.offset :].startswith(b"root" * 300_000)
    assert root.offset % (FIRST * SECTOR) == 0
    assert SYSTEM.bytes_le in content[1024:1536] and ROOT.bytes_le in content[1024:1536]
