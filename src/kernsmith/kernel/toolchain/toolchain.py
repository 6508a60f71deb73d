# SPDX-License-Identifier: GPL-2.0-or-later
"""A compiler and a linker, with the other programs of a build."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from kernsmith.arch import DEFAULT
from kernsmith.errors import ProgramMissing
from kernsmith.kernel.toolchain.compiler import Compiler, default_compiler, find_compiler
from kernsmith.kernel.toolchain.content import CLANG, GCC, compiler_content
from kernsmith.kernel.toolchain.linker import LLD, Linker, find_linker, newest_lld, own_linker
from kernsmith.kernel.toolchain.programs import suffix_of
from kernsmith.study.variant import digest_of

# What kbuild tells the compiler for each (Makefile, scripts/Makefile.autofdo, .propeller).
_LTO = {
    "thin": ("-flto=thin", "-fsplit-lto-unit", "-fvisibility=hidden"),
    "full": ("-flto=full", "-fvisibility=hidden"),
}
_AUTOFDO = (
    "-fdebug-info-for-profiling", "-mllvm", "-enable-fs-discriminator=true",
    "-mllvm", "-improved-fs-discriminator=true", "-fsplit-machine-functions",
)  # fmt: skip
_PROPELLER = ("-fbasic-block-address-map", "-fbasic-block-sections=labels")


@dataclass(frozen=True)
class Toolchain:
    """The programs of one build.

    own: the program of the linker that is taken when no study names one.
    """

    compiler: Compiler
    linker: Linker
    own: str

    @property
    def own_linker(self) -> bool:
        """Whether the linker is the compiler's own."""
        return self.linker.program == self.own

    @property
    def contents(self) -> tuple[tuple[str, str], ...]:
        """Digest of each program's content, for identity."""
        return (("compiler", self.compiler.content), ("linker", self.linker.content))

    @property
    def host_compiler(self) -> str:
        """The compiler of the programs that run while a kernel is built (kbuild's HOSTCC)."""
        return self.compiler.program if self.compiler.family == CLANG else GCC

    @property
    def compilers(self) -> str:
        """Digest of the content of the compiler and of the host's: what objects depend on."""
        host = "" if self.compiler.family == CLANG else compiler_content(GCC, GCC)
        return digest_of([self.compiler.content, host])

    @property
    def make_variables(self) -> tuple[tuple[str, str], ...]:
        """What kbuild is told; LLVM= names all of LLVM's tools (Documentation/kbuild/llvm.rst)."""
        compiler, linker = self.compiler.program, self.linker.program
        if self.compiler.family == GCC:
            return (("CC", compiler), ("LD", linker))
        variables = (("LLVM", self._llvm), ("CC", compiler))
        return variables if self.own_linker else (*variables, ("LD", linker))

    @property
    def _llvm(self) -> str:
        """The value of kbuild's LLVM=: a suffix, or a folder of programs with a slash behind it."""
        suffix = suffix_of(self.own)
        if Path(self.own).is_absolute() and not suffix:
            return f"{Path(self.own).parent}/"
        return suffix or "1"

    # gcc takes flags of the same names, but the kernel has no such builds with it.

    @property
    def lto(self) -> tuple[str, ...]:
        """The modes of link-time optimisation that a kernel can be built with."""
        possible = self.compiler.family == CLANG and self.linker.family == LLD
        return tuple(mode for mode, flags in _LTO.items() if possible and self._takes(*flags))

    @property
    def autofdo(self) -> bool:
        """Whether the compiler takes the kernel's flags for AutoFDO."""
        return self.compiler.family == CLANG and self._takes(*_AUTOFDO)

    @property
    def propeller(self) -> tuple[str, ...]:
        """The flags for Propeller's map of basic blocks that the compiler takes."""
        clang = self.compiler.family == CLANG
        return tuple(flag for flag in _PROPELLER if clang and self._takes(flag))

    def _takes(self, *flags: str) -> bool:
        return not self.compiler.refuses(flags)

    def tool(self, name: str) -> str:
        """A program of the same LLVM as the linker if it is installed (an lld may come alone), else
        of the newest: `llvm-nm` → `llvm-nm-22`.

        Raises:
            ProgramMissing: it is not installed.
        """
        suffix = ""
        for linker in [self.linker.program] * (self.linker.family == LLD) + [newest_lld()]:
            suffix = Path(linker).name.removeprefix("ld.lld")
            beside = Path(linker).with_name(f"{name}{suffix}")
            program = str(beside) if beside.is_absolute() and beside.exists() else f"{name}{suffix}"
            if shutil.which(program):
                return program
        package = "bolt" if "bolt" in name else "llvm"
        raise ProgramMissing(f"{name}{suffix}", f"apt-get install {package}{suffix}")


def find_toolchain(compiler: str = "", linker: str = "", arch: str = DEFAULT) -> Toolchain:
    """The toolchain of a compiler and a linker.

    compiler: a program on PATH, one of a private root (`kernsmith toolchain add`), or a path;
        empty is `default_compiler()`.
    linker: `lld`, `lld-22`, `bfd`, or a path; empty is the compiler's own lld, else the newest.
        gcc's objects are linked by lld, too: GNU ld cannot order functions.
    arch: the architecture that it builds for.

    Raises:
        ProgramMissing: compiler or linker not installed.
        UserError: neither clang nor gcc, or no linker that is known.
    """
    return _find(compiler or default_compiler(), linker, arch)


@cache
def _find(compiler: str, linker: str, arch: str) -> Toolchain:
    found = find_compiler(compiler, arch)
    return Toolchain(found, find_linker(linker, found), own_linker(found))
