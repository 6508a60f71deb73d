# SPDX-License-Identifier: GPL-2.0-or-later
"""The running kernel, by what it says of itself."""

import os
import struct
from pathlib import Path

import pytest

from kernsmith.machine.running import build_id_of, running_kernel

ID = bytes(range(20))


def note(name: bytes, kind: int, content: bytes) -> bytes:
    head = struct.pack("=III", len(name), len(content), kind)
    return head + b"".join(part.ljust((len(part) + 3) & ~3, b"\0") for part in (name, content))


def test_the_build_id_is_gnus_third_note() -> None:
    others = note(b"Linux\0", 0x101, b"\0") + note(b"Xen\0", 3, b"no") + note(b"GNU\0", 5, b"x")
    assert build_id_of(others + note(b"GNU\0", 3, ID)) == ID.hex()
    assert build_id_of(others) == ""
    assert build_id_of(b"\xff" * 40) == ""


@pytest.mark.parametrize("cut", [0, 3, 11, 13])
def test_notes_that_end_early_have_none(cut: int) -> None:
    assert build_id_of(note(b"Linux\0", 1, b"four")[:cut]) == ""


def test_a_kernel_with_notes(tmp_path: Path) -> None:
    files = {
        "sys/kernel/notes": note(b"GNU\0", 3, ID),
        "proc/sys/kernel/random/boot_id": b"abc-def\n",
        "proc/stat": b"cpu 1 2\nbtime 1767225600\nprocesses 4\n",
        "proc/cmdline": b"quiet splash\n",
        "etc/machine-id": b"0123\n",
    }
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    found = running_kernel(tmp_path)
    assert (found.key, found.build_id) == (ID.hex(), ID.hex())
    assert (found.boot, found.command) == ("abc-def", ("quiet", "splash"))
    assert found.booted_at == "2026-01-01T00:00:00.000+00:00"
    assert "0123" not in found.host


def test_a_kernel_without_notes_is_known_by_its_version(tmp_path: Path) -> None:
    found = running_kernel(tmp_path)
    assert found.build_id == ""
    assert found.key.startswith("uname-")
    assert found.key == running_kernel(tmp_path).key
    assert found.release == os.uname().release
    assert len(found.key) <= 64, "what the ledger's column holds"
