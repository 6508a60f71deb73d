# SPDX-License-Identifier: GPL-2.0-or-later
"""Which functions of a kernel use vector or floating-point registers, and where it says it does.

A kernel keeps these registers for user space: they are neither saved nor restored when it is
entered, so that code which uses them unasked corrupts programs. The kernel forbids compilers to
use them (`-mno-sse` and the like) and uses them itself in few places, in assembly, between
kernel_fpu_begin() and kernel_fpu_end(). Which registers these are, and how assembly names them, the
architecture says (`Arch.registers`). Instructions that only save, restore and reset the whole state
(XSAVE, FXRSTOR, FNINIT …) name no such register and are not looked at: compilers have no reason to
use them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from kernsmith import process
from kernsmith.arch import Arch, Registers, find_arch

_SECONDS = 600.0
_FUNCTION = re.compile(r"^(?:[0-9a-f]+ )?<(.+)>:$")
_WORD = re.compile(r"\b[A-Za-z_]\w{3,}\b")
# A definition in C stands at the start of a line.
_DEFINED = re.compile(r"^[A-Za-z_][^;={}#()]*?\b(\w+)\s*\(", re.MULTILINE)


def simd_functions(
    binary: Path, objdump: str = "llvm-objdump", arch: Arch | None = None
) -> dict[str, int]:
    """How many instructions of each function name such a register.

    binary: an ELF file: a `vmlinux`, a module, an object. arch: of what; default: the first one.

    Functions without such an instruction are not in it. Raises ProcessFailed when the file is
    none that `objdump` (LLVM's) reads, and ProgramMissing.
    """
    found: Counter[str] = Counter()
    function = ""
    names_register = (arch or find_arch()).registers.instruction.match

    def read(line: str) -> None:
        nonlocal function
        if line.endswith(">:") and (match := _FUNCTION.match(line)):
            function = match[1]
        elif names_register(line):
            found[function] += 1

    command: list[str | Path] = [
        objdump,
        "--disassemble",
        "--no-show-raw-insn",
        "--no-leading-addr",
        binary,
    ]
    process.run(command, timeout=_SECONDS, on_line=read, capture=False, merge=False)
    return dict(found)


def kernel_places(tree: Path, arch: Arch | None = None) -> dict[str, str]:
    """The functions for which a kernel's source has assembly with these registers, and its files.

    In a file of assembly all names count but those that are called; in a file of C with such
    assembly, all functions that it defines.
    """
    places: dict[str, str] = {}
    registers = (arch or find_arch()).registers
    for path in _sources(tree, registers):
        text = path.read_text(encoding="utf-8", errors="replace")
        if path.suffix == ".S" and registers.assembly.search(text):
            names = _WORD.findall(registers.called.sub("", text))
        elif path.suffix != ".S" and registers.c.search(text):
            names = _DEFINED.findall(text)
        else:
            continue
        places |= dict.fromkeys(names, str(path.relative_to(tree)))
    return places


def beyond_places(functions: dict[str, int], places: dict[str, str]) -> set[str]:
    """The functions for which the source has no such assembly.

    What compilers append to a name (`.cold`, `.isra.0`, `.llvm.123`) does not count.
    """
    return {name for name in functions if name.partition(".")[0] not in places}


def _sources(tree: Path, registers: Registers) -> Iterator[Path]:
    for folder in registers.folders:
        for suffix in ("S", "c", "h", "uc"):
            yield from (tree / folder).rglob(f"*.{suffix}")
