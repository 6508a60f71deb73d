# SPDX-License-Identifier: GPL-2.0-or-later
"""The build id that a running kernel tells of itself, in /sys/kernel/notes."""

from __future__ import annotations

import struct

_GNU, _BUILD_ID = b"GNU\0", 3
_HEAD = struct.Struct("<III")


def build_id_in(notes: bytes) -> str:
    """The build id in ELF notes (elf(5): sizes of name and content, type, both padded to 4 bytes),
    in hexadecimal; empty when there is none."""
    at = 0
    while at + _HEAD.size <= len(notes):
        name_size, size, kind = _HEAD.unpack_from(notes, at)
        name_at = at + _HEAD.size
        content_at = name_at + _padded(name_size)
        name = notes[name_at : name_at + name_size]
        if (name, kind) == (_GNU, _BUILD_ID):
            return notes[content_at : content_at + size].hex()
        at = content_at + _padded(size)
    return ""


def _padded(size: int) -> int:
    return -(-size // 4) * 4
