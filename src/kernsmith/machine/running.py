# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel that runs here, and the boot that it is in."""

from __future__ import annotations

import os
import re
import struct
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

_HEAD = struct.Struct("=III")
_ELF64 = b"\x7fELF\x02"
_ELF = struct.Struct("=32sQ14xHH")
_SEGMENT = struct.Struct("=I4xQ16xQ")
_PT_NOTE = 4
_GNU, _BUILD_ID = b"GNU\0", 3


@dataclass(frozen=True)
class RunningKernel:
    """build_id: hexadecimal; empty where the kernel does not tell it. release, version: of uname.

    boot: the boot's own random name. booted_at: UTC, ISO 8601.
    command: the words of its command line. host: names this computer without telling its name.
    """

    build_id: str
    release: str
    version: str
    boot: str
    booted_at: str
    command: tuple[str, ...]
    host: str

    @property
    def key(self) -> str:
        """What tells this kernel from others: its build id, else a digest of what uname says."""
        said = f"{self.release} {self.version}"
        return self.build_id or f"uname-{sha256(said.encode()).hexdigest()[:40]}"


def running_kernel(root: Path = Path("/")) -> RunningKernel:
    """What the running kernel says of itself. root: in which `sys`, `proc` and `etc` are looked at.

    What cannot be read is empty.
    """
    uname = os.uname()
    try:
        build_id = build_id_of((root / "sys/kernel/notes").read_bytes())
    except OSError:
        build_id = ""
    machine = _text(root / "etc/machine-id") or uname.nodename
    return RunningKernel(
        build_id=build_id,
        release=uname.release,
        version=uname.version,
        boot=_text(root / "proc/sys/kernel/random/boot_id"),
        booted_at=_booted_at(_text(root / "proc/stat")),
        command=tuple(_text(root / "proc/cmdline").split()),
        host=sha256(machine.encode()).hexdigest()[:16],
    )


def build_id_of(notes: bytes) -> str:
    """The build id in ELF notes (/sys/kernel/notes), hexadecimal; empty where there is none.

    A note is three words (sizes of name and content, type), the name, and the content, both padded
    to four bytes; that of the linker is GNU's type 3 (System V ABI, "Note Section"; binutils'
    NT_GNU_BUILD_ID).
    """
    place = 0
    while place + _HEAD.size <= len(notes):
        name_size, size, kind = _HEAD.unpack_from(notes, place)
        name_at = place + _HEAD.size
        at = name_at + _padded(name_size)
        if kind == _BUILD_ID and notes[name_at : name_at + name_size] == _GNU:
            return notes[at : at + size].hex()
        place = at + _padded(size)
    return ""


def build_id_in(image: Path) -> str:
    """The build id in a 64-bit ELF file such as `vmlinux`; empty where it has none.

    Notes are in segments of type PT_NOTE (System V ABI, "Program Header").
    """
    with image.open("rb") as file:
        head = file.read(_ELF.size)
        if len(head) < _ELF.size or head[:5] != _ELF64:
            return ""
        _, place, size, count = _ELF.unpack(head)
        file.seek(place)
        segments = file.read(size * count)
        for number in range(len(segments) // size):
            kind, at, length = _SEGMENT.unpack_from(segments, number * size)
            if kind == _PT_NOTE:
                file.seek(at)
                if found := build_id_of(file.read(length)):
                    return found
    return ""


def _padded(size: int) -> int:
    return (size + 3) & ~3


def _booted_at(stat: str) -> str:
    """From `btime` of /proc/stat, in seconds since 1970."""
    found = re.search(r"^btime (\d+)$", stat, re.MULTILINE)
    moment = datetime.fromtimestamp(int(found[1]), UTC) if found else datetime.now(UTC)
    return moment.isoformat(timespec="milliseconds")


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
