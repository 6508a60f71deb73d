# SPDX-License-Identifier: GPL-2.0-or-later
"""What the installed compilers themselves say about `-march=`: nothing here is looked up."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from kernsmith import process
from kernsmith.errors import KernsmithError, ProcessFailed
from kernsmith.kernel.cpu.catalogue import Release, parse_release
from kernsmith.kernel.private_root import private_roots
from kernsmith.kernel.toolchain import path_folders, programs

_NAMES = r"(clang|gcc)(-\d+)?"
_NOWHERE = ("-x", "c", "-fsyntax-only", "/dev/null")
_SECONDS = 30.0
# Features are macros such as __AVX2__; names of processors (__znver3) have small letters.
_FEATURE = re.compile(r"^#define __([A-Z0-9_]+)__ 1$", re.MULTILINE)


@dataclass(frozen=True)
class Compiler:
    """An installed compiler for x86-64.

    name: what a study writes. family: `gcc` or `clang`. banner: its own words.
    """

    name: str
    program: Path
    family: str
    release: Release
    banner: str

    def takes(self, *options: str) -> bool:
        """Whether it compiles (an empty file) with these options."""
        return self._run(*options, *_NOWHERE, check=False).returncode == 0

    def words(self) -> frozenset[str]:
        """All that its `-march=` takes for 64 bits, as it lists them itself; not `native`."""
        said = self._run("-march=?", *_NOWHERE, check=False).output
        listed = re.search(r"valid (?:arguments|target CPU values)[^\n]* are: ([^\n;]+)", said)
        return frozenset(re.split(r"[, ]+", listed[1].strip()) if listed else ()) - {"native"}

    def features(self, march: str) -> frozenset[str]:
        """What it may use with `-march=` beyond x86-64: `AVX2`, `MOVBE` …

        Raises ProcessFailed when it does not take the word.
        """
        return _features(self.program, march) - _features(self.program, "x86-64")

    def native(self) -> str:
        """What it takes `-march=native` for on this machine.

        Raises ProcessFailed when it has no such option.
        """
        if self.family == "gcc":
            said = self._run("-march=native", "-Q", "--help=target").output
            found = re.search(r"^\s*-march=\s+(\S+)", said, re.MULTILINE)
        else:
            said = self._run("-march=native", "-###", *_NOWHERE).output
            found = re.search(r'"-target-cpu" "([^"]+)"', said)
        if found is None:
            raise KernsmithError(f"{self.name} does not say what -march=native stands for")
        return found[1]

    def _run(self, *options: str, check: bool = True) -> process.Completed:
        return process.run([str(self.program), *options], timeout=_SECONDS, check=check)


@cache
def _features(program: Path, march: str) -> frozenset[str]:
    command = [str(program), f"-march={march}", "-dM", "-E", "-x", "c", "/dev/null"]
    return frozenset(_FEATURE.findall(process.run(command, timeout=_SECONDS).output))


def compiler_programs(prefixes: Sequence[Path] = ()) -> dict[str, Path]:
    """Compilers on PATH, in private roots, and in these folders or their `bin`, by name.

    A program that is there under several names is told under the one with its version.
    """
    # ccache may stand before a compiler under the compiler's own name.
    on_path = [p for p in programs(_NAMES, path_folders()) if p.resolve().name != "ccache"]
    names = {program.name: program for program in reversed(on_path)}
    names |= {root.compiler: root.program for root in private_roots() if root.compiler not in names}
    for prefix in prefixes:
        folders = [prefix.absolute(), prefix.absolute() / "bin"]
        names |= {str(program): program for program in programs(_NAMES, folders)}
    by_program: dict[Path, str] = {}
    for name, program in sorted(names.items(), key=lambda item: (len(item[0]), item[0])):
        by_program[program.resolve()] = name
    return {name: names[name] for name in by_program.values()}


def installed_compilers() -> tuple[Compiler, ...]:
    """Every gcc and clang here that compiles for x86-64, sorted by release."""
    found = (examine(program, name) for name, program in compiler_programs().items())
    compilers = [compiler for compiler in found if compiler is not None]
    return tuple(sorted(compilers, key=lambda compiler: (compiler.family, compiler.release)))


def examine(program: Path, name: str = "") -> Compiler | None:
    """The compiler behind a program; None if it is none, or for another architecture."""
    try:
        banner = process.run([program, "--version"], timeout=_SECONDS).output.splitlines()[0]
        machine = process.run([program, "-dumpmachine"], timeout=_SECONDS).output.strip()
    except (ProcessFailed, IndexError):
        return None
    family = "clang" if "clang" in banner else "gcc"
    version = re.search(r"(?:version |\) )(\d+\.\d+)", banner)
    if version is None or not machine.startswith("x86_64"):
        return None
    return Compiler(
        name or program.name, program, family, parse_release(version[1]), banner.strip()
    )
