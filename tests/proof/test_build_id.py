# SPDX-License-Identifier: GPL-2.0-or-later
"""The build id among a kernel's notes."""

import struct

from kernsmith.proof.build_id import build_id_in


def note(name: bytes, kind: int, content: bytes) -> bytes:
    head = struct.pack("<III", len(name), len(content), kind)
    return (
        head
        + name.ljust(-(-len(name) // 4) * 4, b"\0")
        + content.ljust(-(-len(content) // 4) * 4, b"\0")
    )


def test_it_is_found_behind_others_of_any_size() -> None:
    notes = note(b"Xen\0", 6, b"linux") + note(b"Linux\0", 0x101, b"") + note(b"Xen\0", 3, b"abc")
    assert build_id_in(notes + note(b"GNU\0", 3, bytes(range(20)))) == bytes(range(20)).hex()


def test_without_one_there_is_none() -> None:
    assert build_id_in(b"") == ""
    assert build_id_in(note(b"GNU\0", 1, b"abcd")) == ""
    assert build_id_in(b"\xff" * 40) == ""
