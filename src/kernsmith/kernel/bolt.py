# SPDX-License-Identifier: GPL-2.0-or-later
"""llvm-bolt on a kernel image.

The options are those of LLVM's bolt/docs/OptimizingLinux.md. Functions stay where they were linked,
so `System.map` and kallsyms stay true; what is cold of them goes to a reserve of addresses that an
object of kernsmith's puts into the kernel's code. Without it most of what runs stays as it is: a
function whose blocks are in another order has longer jumps, and must still fit into its place.
"""

from __future__ import annotations

import re
import struct
from bisect import bisect_right
from collections.abc import Sequence
from pathlib import Path

from kernsmith import process
from kernsmith.kernel.symbols import Symbol, is_function

PROGRAM = "llvm-bolt"
OPTIONS = (
    "--eliminate-unreachable=0",
    "--reorder-blocks=ext-tsp",
    "--simplify-conditional-tail-calls=0",
    "--split-functions",
    "--update-debug-sections",
)
ENTRIES = ("__entry_text_start", "irq_entries_start")
"""Code that is left alone besides: interrupts enter it at distances."""
SECONDS = 900.0
RESERVE = """\
.section .text.bolt_reserve, "ax", @progbits
.balign 16
.globl __bolt_reserved_start
__bolt_reserved_start:
.skip 0x200000, 0xcc
.globl __bolt_reserved_end
__bolt_reserved_end:
.section .note.GNU-stack, "", @progbits
"""
"""The object, by LLVM's names: 2 MiB."""
PROFILE = "bolt.fdata"
"""The profile of a kernel that was rewritten, beside its image."""
SKIPPED = "bolt.skipped"
"""Functions that were left alone, beside the profile: one a line."""
_PATCHED = re.compile(r"\] runtime_\w+ +PROGBITS +([0-9a-f]+) ([0-9a-f]+) ([0-9a-f]+) ")


def words(program: str, source: Path, target: Path, folder: Path) -> list[str]:
    """The command that rewrites an image; folder: where profile and `SKIPPED` are."""
    given = [f"--data={folder / PROFILE}", f"--skip-funcs-file={folder / SKIPPED}"]
    return [program, str(source), "-o", str(target), *given, *OPTIONS]


def patched_functions(readelf: str, image: Path, symbols: Sequence[Symbol]) -> list[str]:
    """Functions with constants that the kernel writes into its code when it starts, sorted.

    Sections `runtime_…` say where (include/asm-generic/runtime-const.h, since Linux 6.11), as
    distances from their own entries. llvm-bolt 22 does not know of them: such a function must stay
    as it is, or it runs with the constant's placeholder.
    """
    functions = sorted((s.address, s.name) for s in symbols if is_function(s))
    starts = [address for address, _ in functions]
    table = process.run([readelf, "--sections", "--wide", image], log=None, timeout=60).output
    found: set[str] = set()
    with image.open("rb") as file:
        for placed in _PATCHED.findall(table):
            address, offset, size = (int(word, 16) for word in placed)
            file.seek(offset)
            for at, (distance,) in enumerate(struct.iter_unpack("<i", file.read(size))):
                place = bisect_right(starts, address + 4 * at + distance) - 1
                if place >= 0:
                    found.add(functions[place][1])
    return sorted(found)
