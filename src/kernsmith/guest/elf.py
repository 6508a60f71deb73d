# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether a program starts in a guest that has nothing else."""

from __future__ import annotations

import struct
from typing import Literal

_X86_64, _INTERPRETER = 62, 3

Kind = Literal["static", "dynamic", "foreign"]


def program_kind(content: bytes) -> Kind:
    """`static`: it starts by itself. `dynamic`: it needs an interpreter, and shared libraries.
    `foreign`: it is no ELF64 for x86-64 (System V ABI, "Program Header").
    """
    try:
        magic, machine = content[:6], struct.unpack_from("<H", content, 18)[0]
        (table,) = struct.unpack_from("<Q", content, 32)
        size, count = struct.unpack_from("<HH", content, 54)
        kinds = [struct.unpack_from("<I", content, table + size * n)[0] for n in range(count)]
    except (struct.error, OverflowError):  # no such place in the file, or in any
        return "foreign"
    if magic != b"\x7fELF\x02\x01" or machine != _X86_64:
        return "foreign"
    return "dynamic" if _INTERPRETER in kinds else "static"
