# SPDX-License-Identifier: GPL-2.0-or-later
"""Which functions of a kernel use vector or floating-point registers, and where it says it does.

A kernel keeps these registers for user space: they are neither saved nor restored when it is
entered, so that code which uses them unasked corrupts programs. The kernel forbids compilers to
use them (`-mno-sse` and the like) and uses them itself in few places, in assembly, between
kernel_fpu_begin() and kernel_fpu_end(). Which registers these are, and how assembly names them, the
architecture says (`Arch.registers`). Instructions that only save, restore and reset the whole state
(XSAVE, FXRSTOR, FNINIT …) name no such register and are not looked at: compilers have no reason to
use them.

Every kernel is looked at once it is linked. Compilers use such registers when a flag takes the
kernel's ban back; kbuild does so itself for the few files that are compiled with CC_FLAGS_FPU.
"""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernsmith import process
from kernsmith.arch import Arch, Registers, find_arch
from kernsmith.kernel.recipe import Recipe

_SECONDS = 600.0
_FUNCTION = re.compile(r"^(?:[0-9a-f]+ )?<(.+)>:$")
_SECTION = re.compile(r"^Disassembly of section (.+):$")
# kbuild's note of what an object was made from (scripts/basic/fixdep.c).
_ASSEMBLED = re.compile(r"^source_\S+ := .*\.S$", re.MULTILINE)
_WORD = re.compile(r"\b[A-Za-z_]\w{3,}\b")
# A definition in C stands at the start of a line.
_DEFINED = re.compile(r"^[A-Za-z_][^;={}#()]*?\b(\w+)\s*\(", re.MULTILINE)
# What every compiler makes vectors of, if it may.
VECTORS = """\
struct big { long field[8]; };
void copy(struct big *to, const struct big *from) { *to = *from; }
void clear(struct big *to) { *to = (struct big){ 0 }; }
unsigned add(const unsigned *from, int count)
{
	unsigned sum = 0;

	for (int i = 0; i < count; i++)
		sum += from[i] * 3;
	return sum;
}
"""


@dataclass(frozen=True)
class Unasked:
    """What uses such registers although neither the source nor kbuild's rules say so.

    functions: sorted. flags: those of the variant that let the compiler do it, if any do.
    """

    functions: tuple[str, ...]
    flags: tuple[str, ...]


def unasked(recipe: Recipe, vmlinux: Path, output: Path) -> Unasked:
    """Look for such functions in a kernel that was linked.

    Without a flag that explains them they may be the source's own: link-time optimisation inlines
    assembly into functions of other files.

    output: kbuild's.

    Raises ProgramMissing, and ProcessFailed when LLVM's tools do not read the kernel.
    """
    arch, objdump = recipe.arch, recipe.toolchain.tool("llvm-objdump")
    functions = beyond_places(
        simd_functions(vmlinux, objdump, arch), kernel_places(recipe.source.path, arch)
    )
    if functions:
        allowed = _allowed_objects(output, recipe.variant.flags, arch.registers)
        defined = _defined_in(allowed, recipe.toolchain.tool("llvm-nm"))
        functions = beyond_places(functions, defined)
    if not functions:
        return Unasked((), ())
    program = recipe.toolchain.compiler.program
    return Unasked(
        tuple(sorted(functions)), allowing_flags(program, recipe.variant.flags, objdump, arch)
    )


def allowing_flags(
    compiler: str, flags: Sequence[str], objdump: str = "llvm-objdump", arch: Arch | None = None
) -> tuple[str, ...]:
    """Which of the flags take back that a kernel's code uses no vectors: by compiling some.

    All of them, when they do so only together; none, when not even all of them do.
    """
    target = (arch or find_arch()).target.flags

    def makes_vectors(*tried: str) -> bool:
        with tempfile.TemporaryDirectory() as folder:
            built = Path(folder) / "vectors.o"
            options = ["-O2", *target, *tried, "-fno-lto", "-c", "-x", "c", "-o", str(built), "-"]
            done = process.run([compiler, *options], timeout=_SECONDS, input=VECTORS, check=False)
            return not done.returncode and bool(simd_functions(built, objdump, arch))

    if not flags or not makes_vectors(*flags):
        return ()
    return tuple(flag for flag in flags if makes_vectors(flag)) or tuple(flags)


def simd_functions(
    binary: Path, objdump: str = "llvm-objdump", arch: Arch | None = None
) -> dict[str, int]:
    """How many instructions of each function name such a register.

    binary: an ELF file: a `vmlinux`, a module, an object. arch: of what; default: the first one.

    Functions without such an instruction are not in it. Sections of data are not looked at: a
    linker that joins one with a section that is marked as code marks them all. Raises ProcessFailed
    when the file is none that `objdump` (LLVM's) reads, and ProgramMissing.
    """
    found: Counter[str] = Counter()
    function, in_data = "", False
    names_register = (arch or find_arch()).registers.instruction.match

    def read(line: str) -> None:
        nonlocal function, in_data
        if match := _SECTION.match(line):
            in_data = "data" in match[1]
        elif line.endswith(">:") and (match := _FUNCTION.match(line)):
            function = match[1]
        elif not in_data and names_register(line):
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
    assembly, all functions that it defines. Names that macros of assembly put together are in no
    file: these functions are known by their objects.
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


def beyond_places(functions: Iterable[str], places: Collection[str]) -> set[str]:
    """The functions that are not among the names of those which may use such registers.

    What compilers append to a name (`.cold`, `.isra.0`, `.llvm.123`) does not count.
    """
    return {name for name in functions if name.partition(".")[0] not in places}


def _allowed_objects(output: Path, flags: Sequence[str], registers: Registers) -> Iterator[Path]:
    """The objects that are made of assembly, and those that kbuild's own rules let use such
    registers.

    flags: of the variant; they are on every command line.
    """
    for noted in output.rglob(".*.o.cmd"):
        note = noted.read_text(encoding="utf-8", errors="replace")
        command, _, sources = note.partition("\n")
        own = Counter(command.split()) - Counter(flags)
        built = noted.with_name(noted.name[1:].removesuffix(".cmd"))
        asked = _ASSEMBLED.search(sources) or any(registers.flag.fullmatch(word) for word in own)
        if asked and built.exists():
            yield built


def _defined_in(objects: Iterable[Path], nm: str) -> set[str]:
    """The symbols that objects define (of bitcode, too)."""
    files = sorted(objects)
    if not files:
        return set()
    command: list[str | Path] = [nm, "--defined-only", "--format=just-symbols", *files]
    return set(process.run(command, timeout=_SECONDS, merge=False).output.split())


def _sources(tree: Path, registers: Registers) -> Iterator[Path]:
    for folder in registers.folders:
        if (tree / folder).is_file():
            yield tree / folder
        for suffix in ("S", "c", "h", "uc"):
            yield from (tree / folder).rglob(f"*.{suffix}")
