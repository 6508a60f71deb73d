# SPDX-License-Identifier: GPL-2.0-or-later
"""Whole disks as roots: the partition with the root is found, in raw files and in qcow2."""

import os
import struct
import subprocess
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kernsmith.errors import ProgramMissing, UserError
from kernsmith.proof.master_boot_record import FIRST, master_boot_record
from kernsmith.root import root_of
from kernsmith.root.disk import SECTOR, Partition, partitions

ROOT = UUID("4f68bce3-e8cd-4db1-96e7-fbcaf984b709")
SYSTEM = UUID("c12a7328-f81f-11d2-ba4b-00a0c93ec93b")
LINUX = UUID("0fc63daf-8483-4772-8e79-3d69d8477de4")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNSMITH_CACHE", str(tmp_path / "cache"))


def ext4(path: Path, size: str = "4M") -> bytes:
    """A file system; as mke2fs makes it, each with an id of its own."""
    subprocess.run(["mke2fs", "-q", "-F", "-t", "ext4", str(path), size], check=True)
    return path.read_bytes()


def gpt(path: Path, *parts: tuple[UUID, bytes]) -> Path:
    """A disk with these partitions, by type and content (UEFI 2.10, 5.3; checksums are zeros)."""
    table, body = b"", b""
    for kind, content in parts:
        first = 64 + len(body) // SECTOR
        body += content
        last = 64 + len(body) // SECTOR - 1
        table += kind.bytes_le + bytes(16) + struct.pack("<QQ", first, last) + bytes(80)
    header = b"EFI PART" + bytes(64) + struct.pack("<QII", 2, 128, 128)
    record = bytes(510) + b"\x55\xaa"
    start = record + header.ljust(SECTOR, b"\0") + table
    path.write_bytes(start.ljust(64 * SECTOR, b"\0") + body + bytes(33 * SECTOR))
    return path


def kept(path: Path, content: bytes) -> bool:
    image = root_of(path)
    return image.filesystem == "ext4" and image.path.read_bytes()[: len(content)] == content


def test_what_is_encrypted_is_told_with_what_to_do(tmp_path: Path) -> None:
    other = b"LUKS\xba\xbe".ljust(1 << 17, b"\0")
    bare, disk = tmp_path / "bare", gpt(tmp_path / "disk.raw", (ROOT, other), (LINUX, bytes(4096)))
    bare.write_bytes(other)
    advice = ": LUKS, whose files can be given as a folder"
    with pytest.raises(UserError, match=rf"nor a disk with one{advice}$"):
        root_of(bare)
    with pytest.raises(UserError, match=rf"without a partition of .* \(it has 2{advice}\)$"):
        root_of(disk)


@pytest.mark.parametrize(("at", "magic"), [(0, b"XFSB"), (65_600, b"_BHRfS_M"), (512, b"LABELONE")])
def test_a_system_behind_a_small_boot_partition_is_the_root(
    tmp_path: Path, at: int, magic: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fedora's disks have /boot on ext4 and all else on btrfs: the larger one is opened."""
    other = (bytes(at) + magic).ljust(8 << 20, b"\0")
    disk = gpt(tmp_path / "disk.raw", (LINUX, ext4(tmp_path / "boot")), (LINUX, other))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match=r"disk\.raw are for guestfish to take out"):
        root_of(disk)


def test_the_root_of_a_disk_is_what_its_type_calls_so(tmp_path: Path) -> None:
    small, large = ext4(tmp_path / "small", "2M"), ext4(tmp_path / "large", "6M")
    disk = gpt(tmp_path / "disk.raw", (SYSTEM, bytes(SECTOR * 8)), (ROOT, small), (LINUX, large))
    assert [each.root for each in partitions(disk)] == [False, True, False]
    assert kept(disk, small)


def test_without_such_a_type_it_is_the_largest_file_system(tmp_path: Path) -> None:
    small, large = ext4(tmp_path / "small", "2M"), ext4(tmp_path / "large", "6M")
    swap = bytes(SECTOR * 20_000)
    assert kept(gpt(tmp_path / "disk.raw", (LINUX, small), (LINUX, large), (LINUX, swap)), large)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(440, 1200), st.binary(min_size=1, max_size=8)), max_size=6))
def test_of_a_damaged_table_no_partition_lies_outside(
    tmp_path: Path, damage: list[tuple[int, bytes]]
) -> None:
    disk = gpt(tmp_path / "disk.raw", (SYSTEM, bytes(SECTOR * 8)), (ROOT, bytes(SECTOR * 16)))
    content = bytearray(disk.read_bytes())
    for at, piece in damage:
        content[at : at + len(piece)] = piece
    disk.write_bytes(content)
    for each in partitions(disk):
        assert 0 < each.offset < each.offset + each.size <= len(content)


def test_a_table_of_strange_entries_is_none(tmp_path: Path) -> None:
    disk = gpt(tmp_path / "disk.raw", (ROOT, bytes(SECTOR * 16)))
    content = bytearray(disk.read_bytes())
    for size in (0, 64, 1 << 31):
        content[SECTOR + 84 : SECTOR + 88] = struct.pack("<I", size)
        disk.write_bytes(content)
        assert partitions(disk) == []


def test_a_master_boot_record_is_read_too(tmp_path: Path) -> None:
    content = ext4(tmp_path / "only")
    boot = master_boot_record(bytes(510) + b"\x55\xaa", len(content) // SECTOR)
    disk = tmp_path / "disk.img"
    disk.write_bytes(boot.ljust(FIRST * SECTOR, b"\0") + content)
    assert partitions(disk) == [Partition(1, FIRST * SECTOR, len(content))]
    assert kept(disk, content)


def test_equal_roots_are_one_in_whatever_they_lie(tmp_path: Path) -> None:
    content = ext4(tmp_path / "plain")
    disk = gpt(tmp_path / "disk.raw", (ROOT, content))
    whole, bare = tmp_path / "disk.qcow2", tmp_path / "bare.qcow2"
    for raw, image in ((disk, whole), (tmp_path / "plain", bare)):
        words = ["qemu-img", "convert", "-f", "raw", "-O", "qcow2", "-c", str(raw), str(image)]
        subprocess.run(words, check=True)
    images = [root_of(path) for path in (tmp_path / "plain", disk, whole, bare)]
    assert len({image.digest for image in images}) == 1


def test_an_image_that_reads_another_file_is_refused(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(bytes(1 << 20))
    image = tmp_path / "thin.qcow2"
    words = ["qemu-img", "create", "-q", "-f", "qcow2", "-F", "raw", "-b", str(secret), str(image)]
    subprocess.run(words, check=True)
    with pytest.raises(UserError, match="takes its content from another file"):
        root_of(image)
    split = tmp_path / "split.qcow2"
    option = f"data_file={tmp_path / 'data'},data_file_raw=on"
    words = ["qemu-img", "create", "-q", "-f", "qcow2", "-o", option, str(split), "1M"]
    subprocess.run(words, check=True)
    with pytest.raises(UserError, match="takes its content from another file"):
        root_of(split)


def test_what_is_too_large_is_told_before_it_is_written(tmp_path: Path) -> None:
    image = tmp_path / "huge.qcow2"
    subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", str(image), "4T"], check=True)
    with pytest.raises(UserError, match=r"huge\.qcow2 has 4096 GiB: 64 are allowed"):
        root_of(image)
    ext4(tmp_path / "huge")
    os.truncate(tmp_path / "huge", 65 << 30)
    with pytest.raises(UserError, match=r"huge has 65 GiB"):
        root_of(tmp_path / "huge")


def test_what_a_disk_lacks_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = gpt(tmp_path / "disk.raw", (LINUX, bytes(SECTOR * 8)))
    with pytest.raises(UserError, match=r"without a partition of squashfs.*\(it has 1\)"):
        root_of(disk)
    image = tmp_path / "damaged.qcow2"
    image.write_bytes(b"QFI\xfb\0\0\0\3" + bytes(5000))
    with pytest.raises(UserError, match=r"damaged\.qcow2 is damaged: "):
        root_of(image)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ProgramMissing, match=r"qemu-img is not installed.*qemu-utils"):
        root_of(image)


def test_a_table_that_points_behind_the_end_names_no_partition(tmp_path: Path) -> None:
    disk = gpt(tmp_path / "disk.raw", (ROOT, ext4(tmp_path / "only")))
    content = bytearray(disk.read_bytes())
    struct.pack_into("<Q", content, 2 * SECTOR + 40, 1 << 40)
    disk.write_bytes(content)
    assert partitions(disk) == []
