# SPDX-License-Identifier: GPL-2.0-or-later
"""A kernel of two functions, and files of `perf record` that are of it."""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Mapping
from pathlib import Path

TEXT = 0xFFFFFFFF81000000
"""Where the kernel is linked."""

HOST, RELEASE, PROCESSOR = 3, 4, 8
"""Numbers of features that say where a file was recorded."""

_SOURCE = """
__attribute__((noinline)) long leaf(long n) { return n * n; }
long _start(long n) { long sum = 0; while (n-- > 0) sum += leaf(n); return sum; }
"""

_IP, _BRANCH_STACK = 1, 1 << 11
_ANY = 1 << 3
_SAMPLE, _MMAP = 9, 1
_KERNEL = 1


def make_vmlinux(folder: Path, *flags: str) -> Path:
    """The kernel: `_text` is where its code begins."""
    source = folder / "kernel.c"
    source.write_text(_SOURCE)
    vmlinux = folder / "vmlinux"
    words = [
        "gcc",
        "-O1",
        "-g",
        "-nostdlib",
        "-static",
        "-fno-pie",
        "-mcmodel=kernel",
        "-Wl,--build-id=sha1",
    ]
    words += [f"-Wl,-Ttext={TEXT:#x}", f"-Wl,--defsym=_text={TEXT:#x}"]
    words += [*flags, "-o", str(vmlinux), str(source)]
    subprocess.run(words, check=True)
    return vmlinux


def symbols(vmlinux: Path) -> dict[str, int]:
    """Addresses of the kernel's functions."""
    told = subprocess.run(["nm", vmlinux], check=True, capture_output=True, text=True).stdout
    return {name: int(at, 16) for at, _, name in map(str.split, told.splitlines())}


def build_id(vmlinux: Path) -> str:
    """Hexadecimal."""
    words = ["readelf", "--notes", str(vmlinux)]
    told = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    return told.partition("Build ID: ")[2].split()[0]


def perf_data(
    samples: list[list[tuple[int, int]]],
    *,
    moved: int = 0,
    build_id: str = "",
    stacks: bool = True,
    told: Mapping[int, str] | None = None,
) -> bytes:
    """A file of samples, each with its branches, the latest first; see native/profile.

    told: texts by the numbers of features (`HOST`, `RELEASE`, `PROCESSOR`).
    """
    records = _record(_MMAP, struct.pack("<iI3Q", -1, 0, TEXT + moved, 1 << 21, TEXT + moved)
                      + b"[kernel.kallsyms]_text\0\0")  # fmt: skip
    for stack in samples:
        body = struct.pack("<Q", stack[0][1])
        if stacks:
            body += struct.pack("<Q", len(stack))
            body += b"".join(struct.pack("<3Q", source, to, 0) for source, to in stack)
        records += _record(_SAMPLE, body)
    kind, filtered = (_IP | _BRANCH_STACK, _ANY) if stacks else (_IP, 0)
    attribute = struct.pack("<10Q", 112 << 32, 4, 1000, kind, 0, 0, 0, 0, 0, filtered)
    attribute = attribute.ljust(112 + 16, b"\0")
    at = 104 + len(attribute)
    sizes = [104, 128, 104, len(attribute), at, len(records), 0, 0]
    features = {number: _text(words) for number, words in (told or {}).items()}
    if build_id:
        body = struct.pack("<i", -1) + bytes.fromhex(build_id) + bytes(4)
        features[2] = _record(0, body + b"[kernel.kallsyms]".ljust(64, b"\0"))
    bits = (sum(1 << number for number in features), 0, 0, 0)
    file = b"PERFILE2" + struct.pack("<12Q", *sizes, *bits) + attribute + records
    at = len(file) + 16 * len(features)
    for _, section in sorted(features.items()):
        file += struct.pack("<2Q", at, len(section))
        at += len(section)
    return file + b"".join(section for _, section in sorted(features.items()))


def _text(words: str) -> bytes:
    """A text as features have it: behind its length."""
    padded = words.encode().ljust(64, b"\0")
    return struct.pack("<I", len(padded)) + padded


def _record(kind: int, body: bytes) -> bytes:
    return struct.pack("<IHH", kind, _KERNEL, 8 + len(body)) + body
