# SPDX-License-Identifier: GPL-2.0-or-later
import os
import stat
import time
from pathlib import Path

import pytest

from kernsmith import process
from kernsmith.errors import UserError
from kernsmith.guest import build_initramfs, build_layer, digest, module_loader


@pytest.fixture
def init(tmp_path: Path) -> Path:
    path = tmp_path / "kernsmith-guest"
    path.write_bytes(b"\x7fELF and so on")
    return path


def members(archive: bytes) -> dict[str, tuple[int, ...]]:
    """Header fields by name, read as the kernel does it (init/initramfs.c), with the data last."""
    found = {}
    at = 0
    while archive[at : at + 6] == b"070701":
        fields = [int(archive[at + 6 + 8 * i : at + 14 + 8 * i], 16) for i in range(13)]
        size, name_size = fields[6], fields[11]
        name = archive[at + 110 : at + 110 + name_size - 1].decode()
        data_at = (at + 110 + name_size + 3) & ~3
        found[name] = (*fields, data_at)
        at = (data_at + size + 3) & ~3
    return found


def test_it_holds_the_program_as_init(init: Path) -> None:
    archive = build_initramfs(init)
    *fields, data_at = members(archive)["init"]
    assert fields[1] == stat.S_IFREG | 0o755
    assert archive[data_at : data_at + fields[6]] == init.read_bytes()


def test_it_has_the_console_and_the_folders_to_mount_on(init: Path) -> None:
    found = members(build_initramfs(init))
    assert found["dev/console"][1] == stat.S_IFCHR | 0o600
    assert found["dev/console"][9:11] == (5, 1)
    for folder in ("dev", "proc", "sys", "tmp"):
        assert found[folder][1] == stat.S_IFDIR | 0o755
    assert list(found)[-1] == "TRAILER!!!"


def test_inodes_are_fixed_and_times_are_none(init: Path) -> None:
    found = members(build_initramfs(init))
    del found["TRAILER!!!"]
    assert [fields[0] for fields in found.values()] == list(range(1, len(found) + 1))
    assert {fields[5] for fields in found.values()} == {0}


def test_equal_programs_make_equal_archives(init: Path) -> None:
    first = build_initramfs(init)
    os.utime(init, (time.time(), 1))
    init.chmod(0o400)
    assert build_initramfs(init) == first
    init.write_bytes(b"another program")
    assert digest(build_initramfs(init)) != digest(first)


def test_cpio_reads_it(init: Path) -> None:
    listed = process.run(
        ["cpio", "-t", "--quiet"], log=None, timeout=10, input=build_initramfs(init)
    )
    assert {"init", "dev/console", "dev/null", "proc"} <= set(listed.output.split())


def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        build_initramfs(tmp_path / "none")


def test_a_layer_goes_behind_the_guests_archive(init: Path) -> None:
    guest = build_initramfs(init)
    layer = build_layer("modules", {"load": b"\x7fELF"}, {"list": b"one\n", "one.ko": b"module"})
    found = members(layer)
    assert list(found) == [
        "modules",
        "modules/load",
        "modules/list",
        "modules/one.ko",
        "TRAILER!!!",
    ]
    assert found["modules"][1] == stat.S_IFDIR | 0o755
    assert found["modules/load"][1] == stat.S_IFREG | 0o755
    *fields, data_at = found["modules/one.ko"]
    assert layer[data_at : data_at + fields[6]] == b"module"
    assert len(guest) % 512 == len(layer) % 512 == 0


def test_the_program_that_loads_modules_is_for_the_first_process_only(program: Path) -> None:
    told = process.run([module_loader()], log=None, timeout=10, check=False)
    assert told.returncode == 2
    assert "rdinit=/modules/load" in told.output
