# SPDX-License-Identifier: GPL-2.0-or-later
"""Which functions of a kernel use vector or floating-point registers, and where it says it does.

A kernel keeps these registers for user space: they are neither saved nor restored when it is
entered, so that code which uses them unasked corrupts programs. The kernel forbids compilers to
use them (`-mno-sse` and others in arch/x86/Makefile) and uses them itself in few places, in
assembly, between kernel_fpu_begin() and kernel_fpu_end(). Instructions that only save, restore and
reset the whole state (XSAVE, FXRSTOR, FNINIT …) name no such register and are not looked at:
compilers have no reason to use them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from kernsmith import process

_SECONDS = 600.0
_FUNCTION = re.compile(r"^(?:[0-9a-f]+ )?<(.+)>:$")
_REGISTER = re.compile(r"^\s+[a-z][^#]*%(?:[xyzt]?mm\d|st\b|k[0-7]\b)")

# Where a kernel for x86 keeps assembly for these registers, and how that names them.
_FOLDERS = ("arch/x86", "lib", "crypto", "net/netfilter")
_IN_ASSEMBLY = re.compile(r"%[xyz]mm|\b[xyz]mm\d")
_IN_C = re.compile(r'"[^"\n]*(?:%%[xyz]mm|%%mm\d|\bfdivl\b)')
_CALLED = re.compile(r"\b(?:call|j[a-z]{1,3})\s+\*?\w+")
_WORD = re.compile(r"\b[A-Za-z_]\w{3,}\b")
# A definition in C stands at the start of a line.
_DEFINED = re.compile(r"^[A-Za-z_][^;={}#()]*?\b(\w+)\s*\(", re.MULTILINE)


def simd_functions(binary: Path, objdump: str = "llvm-objdump") -> dict[str, int]:
    """How many instructions of each function name a vector, mask, MMX or x87 register.

    binary: an ELF file for x86-64: a `vmlinux`, a module, an object.

    Functions without such an instruction are not in it. Raises ProcessFailed when the file is
    none that `objdump` (LLVM's) reads, and ProgramMissing.
    """
    found: Counter[str] = Counter()
    function = ""

    def read(line: str) -> None:
        nonlocal function
        if line.endswith(">:") and (match := _FUNCTION.match(line)):
            function = match[1]
        elif "%" in line and _REGISTER.match(line):
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


def kernel_places(tree: Path) -> dict[str, str]:
    """The functions for which a kernel's source has assembly with these registers, and its files.

    In a file of assembly all names count but those that are called; in a file of C with such
    assembly, all functions that it defines.
    """
    places: dict[str, str] = {}
    for path in _sources(tree):
        text = path.read_text(encoding="utf-8", errors="replace")
        if path.suffix == ".S" and _IN_ASSEMBLY.search(text):
            names = _WORD.findall(_CALLED.sub("", text))
        elif path.suffix != ".S" and _IN_C.search(text):
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


def _sources(tree: Path) -> Iterator[Path]:
    for folder in _FOLDERS:
        for suffix in ("S", "c", "h", "uc"):
            yield from (tree / folder).rglob(f"*.{suffix}")
