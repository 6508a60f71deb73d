# SPDX-License-Identifier: GPL-2.0-or-later
"""Compilers and linkers: which programs a variant is built with, and exactly which versions."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from kernsmith import process
from kernsmith.errors import ProgramMissing, UserError

LINKERS = ("ld.lld-22", "ld.lld-21", "ld.lld-20", "ld.lld-19", "ld.lld")
MINIMUM = {"clang": 15, "gcc": 8}
AUTOFDO_MINIMUM = 19


@dataclass(frozen=True)
class Toolchain:
    """The programs of one build.

    family: `clang` or `gcc`.
    suffix: Debian's version suffix (`-22`), or empty.
    version: major version of the compiler.
    make_variables: what kbuild is told (`LLVM=-22`, or `CC=` and `LD=`).
    banners: first line of `--version` of each program, for provenance and identity.
    """

    family: str
    suffix: str
    version: int
    compiler: str
    linker: str
    make_variables: tuple[tuple[str, str], ...]
    banners: tuple[tuple[str, str], ...]

    def tool(self, name: str) -> str:
        """A program of the same LLVM as the linker: `llvm-nm` → `llvm-nm-22`.

        Raises:
            ProgramMissing: it is not installed.
        """
        suffix = self.linker.removeprefix("ld.lld")
        return _require(f"{name}{suffix}", f"llvm{suffix}")


def find_toolchain(compiler: str) -> Toolchain:
    """The toolchain of a compiler's program name or path.

    Raises:
        ProgramMissing: compiler or linker not installed.
        UserError: neither clang nor gcc, or too old for a kernel.
    """
    return _find(compiler)


@cache
def _find(compiler: str) -> Toolchain:
    program = _require(compiler, Path(compiler).name)
    banner = _banner(program)
    family = "clang" if "clang" in banner else "gcc" if "gcc" in banner.lower() else ""
    found = re.search(r"version (\d+)", banner) or re.search(r"\) (\d+)\.", banner)
    if not family or found is None:
        raise UserError(f"{compiler} is neither clang nor gcc: it calls itself {banner!r}")
    version = int(found[1])
    if version < MINIMUM[family]:
        raise UserError(
            f"{compiler} is version {version}; kernels need {family} {MINIMUM[family]} or newer"
        )
    suffix = match[0] if (match := re.search(r"-\d+$", compiler)) else ""
    linker = _linker(f"ld.lld{suffix}" if family == "clang" else "")
    variables = _make_variables(family, program, suffix, linker)
    return Toolchain(
        family=family,
        suffix=suffix,
        version=version,
        compiler=program,
        linker=linker,
        make_variables=tuple(variables.items()),
        banners=(("compiler", banner), ("linker", _banner(linker))),
    )


def _make_variables(family: str, program: str, suffix: str, linker: str) -> Mapping[str, str]:
    if family == "clang" and linker == f"ld.lld{suffix}":
        return {"LLVM": suffix or "1", "CC": program}
    return {"CC": program, "LD": linker}


def _linker(preferred: str) -> str:
    for name in (preferred, *LINKERS):
        if name and shutil.which(name):
            return name
    raise ProgramMissing("ld.lld", "apt-get install lld-22")


def _require(program: str, package: str) -> str:
    if shutil.which(program) is None:
        raise ProgramMissing(program, f"apt-get install {package}")
    return program


def _banner(program: str) -> str:
    return process.run([program, "--version"], timeout=30).output.splitlines()[0].strip()
