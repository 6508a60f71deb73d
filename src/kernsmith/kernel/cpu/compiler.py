# SPDX-License-Identifier: GPL-2.0-or-later
"""What the installed compilers themselves say about `-march=`: nothing here is looked up."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from kernsmith import process
from kernsmith.errors import KernsmithError, ProcessFailed
from kernsmith.kernel.cpu.catalogue import Release, parse_release

_PROGRAM = re.compile(r"(gcc|clang)(-\d+)?")
_NOWHERE = ("-x", "c", "-fsyntax-only", "/dev/null")
_SECONDS = 30.0
# Features are macros such as __AVX2__; names of processors (__znver3) have small letters.
_FEATURE = re.compile(r"^#define __([A-Z0-9_]+)__ 1$", re.MULTILINE)


@dataclass(frozen=True)
class Compiler:
    """An installed compiler for x86-64. family: `gcc` or `clang`; banner: its own words."""

    program: str
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
            raise KernsmithError(f"{self.program} does not say what -march=native stands for")
        return found[1]

    def _run(self, *options: str, check: bool = True) -> process.Completed:
        return process.run([self.program, *options], timeout=_SECONDS, check=check)


@cache
def _features(program: str, march: str) -> frozenset[str]:
    command = [program, f"-march={march}", "-dM", "-E", "-x", "c", "/dev/null"]
    return frozenset(_FEATURE.findall(process.run(command, timeout=_SECONDS).output))


def installed_compilers() -> tuple[Compiler, ...]:
    """Every gcc and clang on PATH that compiles for x86-64, one name each, sorted by release.

    A compiler that has several names (`gcc`, `gcc-12`) is there with the one that has its version.
    """
    found: dict[Path, Compiler] = {}
    for program in sorted(_on_path(), key=lambda path: -len(path.name)):
        real = program.resolve()
        if real not in found and (compiler := examine(program)):
            found[real] = compiler
    return tuple(sorted(found.values(), key=lambda compiler: (compiler.family, compiler.release)))


def examine(program: Path) -> Compiler | None:
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
    return Compiler(program.name, family, parse_release(version[1]), banner.strip())


def _on_path() -> Iterator[Path]:
    for folder in map(Path, os.get_exec_path()):
        if folder.is_dir():
            for entry in folder.iterdir():
                if _PROGRAM.fullmatch(entry.name) and os.access(entry, os.X_OK):
                    yield entry
