# SPDX-License-Identifier: GPL-2.0-or-later
"""A linker: lld, or GNU ld."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from kernsmith.errors import ProgramMissing, UserError
from kernsmith.kernel.toolchain.compiler import Compiler
from kernsmith.kernel.toolchain.content import CLANG, linker_content
from kernsmith.kernel.toolchain.programs import (
    banner_of,
    number_behind,
    path_folders,
    programs,
    release_in,
    required,
    suffix_of,
)

LLD = "lld"
BFD = "bfd"


@dataclass(frozen=True)
class Linker:
    """An installed linker.

    program: what is started, a name on PATH or a path. family: `lld` or `bfd` (GNU ld).
    release, banner, content: as of a compiler.
    """

    program: str
    family: str
    release: tuple[int, ...]
    banner: str
    content: str

    @property
    def orders_functions(self) -> bool:
        """Whether it takes an order of functions: only lld does, by symbols."""
        return self.family == LLD


def find_linker(wanted: str, compiler: Compiler) -> Linker:
    """A linker by a study's word; empty is the compiler's own.

    Raises:
        ProgramMissing: not installed.
        UserError: neither lld nor GNU ld, or a word that means nothing.
    """
    return named_linker(wanted) if wanted else _linker(own_linker(compiler))


def named_linker(wanted: str) -> Linker:
    """A linker by a study's word, whatever the compiler is.

    Raises:
        ProgramMissing: not installed.
        UserError: neither lld nor GNU ld, or a word that means nothing.
    """
    return _linker(_named(wanted))


def _linker(program: str) -> Linker:
    banner = banner_of(program)
    family = LLD if "LLD" in banner else BFD if "GNU ld" in banner else ""
    if not family:
        raise UserError(f"{program} is neither lld nor GNU ld: it calls itself {banner!r}")
    return Linker(program, family, release_in(banner), banner, linker_content(program))


def own_linker(compiler: Compiler) -> str:
    """The lld that came with a clang, else the newest."""
    program = compiler.program
    if compiler.family == CLANG:
        name = f"ld.lld{suffix_of(program)}"
        beside = Path(program).with_name(name)
        if Path(program).is_absolute() and beside.exists():
            return str(beside)
        if shutil.which(name):
            return name
    return newest_lld()


@cache
def newest_lld() -> str:
    """The newest lld on PATH; raises ProgramMissing if there is none."""
    found = programs(r"ld\.lld(-\d+)?", path_folders())
    if not found:
        raise ProgramMissing("ld.lld", "apt-get install lld-22")
    return max((path.name for path in found), key=number_behind)


def _named(wanted: str) -> str:
    if wanted == LLD:
        return newest_lld()
    if wanted == BFD:
        return required("ld.bfd", "binutils")
    if match := re.fullmatch(r"lld(-\d+)", wanted):
        return required(f"ld.lld{match[1]}", wanted)
    if wanted.startswith("/"):
        return required(wanted, Path(wanted).name)
    raise UserError(
        f"there is no linker {wanted!r}: allowed are lld, lld-22 and the like, bfd (GNU ld), or "
        "an absolute path"
    )
