# SPDX-License-Identifier: GPL-2.0-or-later
"""A compiler: found by its name, and asked what it can do. Nothing here is looked up."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from kernsmith import process
from kernsmith.arch import DEFAULT, Target, find_arch
from kernsmith.errors import KernsmithError, ProgramMissing, UserError
from kernsmith.kernel.toolchain.content import CLANG, GCC, compiler_content
from kernsmith.kernel.toolchain.programs import (
    banner_of,
    number_behind,
    path_folders,
    private_compiler,
    private_compilers,
    programs,
    release_in,
)
from kernsmith.study.steps import step_kinds

# The oldest clang that is taken without being named: one that reads some step's profile.
OLDEST_CLANG = min(kind.oldest_clang for kind in step_kinds().values() if kind.oldest_clang)
# CLANG_FLAGS of scripts/Makefile.clang: without them clang takes what it does not know.
_CLANG_FLAGS = (
    "-Werror=unknown-warning-option", "-Werror=ignored-optimization-argument",
    "-Werror=option-ignored", "-Werror=unused-command-line-argument",
)  # fmt: skip
_NAMES = rf"({CLANG}|{GCC})(-\d+)?"
_NOWHERE = ("-x", "c", "-fsyntax-only", "/dev/null")
_SECONDS = 60.0
# Features are macros such as __AVX2__; names of processors (__znver3) have small letters.
_FEATURE = re.compile(r"^#define __([A-Z0-9_]+)__ 1$", re.MULTILINE)


@dataclass(frozen=True)
class Compiler:
    """An installed compiler, as it compiles for an architecture.

    name: what a study writes (`gcc-12`). program: what is started, a name on PATH or a path.
    family: `clang` or `gcc`. release: its version, `(12, 2, 0)`.
    banner: first line of `--version`, for people. content: digest of its files, for identity.
    target: what it is told and asked of that architecture.
    """

    name: str
    program: str
    family: str
    release: tuple[int, ...]
    banner: str
    content: str
    target: Target

    @property
    def version(self) -> int:
        """Its major version."""
        return self.release[0]

    def refuses(self, flags: Sequence[str]) -> str:
        """Why it does not take these flags, in its own words; empty if it does."""
        taken, said = self._probe(*flags)
        errors = re.findall(r"error: (.*)$", said, re.MULTILINE) or said.splitlines()[-1:]
        return "" if taken else errors[0] if errors else "it says nothing"

    def words(self) -> frozenset[str]:
        """All that its `-march=` takes, as it lists them itself; not `native`."""
        _, said = self._probe("-march=?")
        listed = re.search(r"valid (?:arguments|target CPU values)[^\n]* are: ([^\n;]+)", said)
        return frozenset(re.split(r"[, ]+", listed[1].strip()) if listed else ()) - {"native"}

    def features(self, march: str) -> frozenset[str]:
        """What it may use with `-march=` beyond the least: `AVX2`, `MOVBE` …

        Raises ProcessFailed when it does not take the word.
        """
        return _features(self.program, march) - _features(self.program, self.target.march)

    def native(self) -> str:
        """What it takes `-march=native` for on this machine.

        Raises ProcessFailed when it has no such option.
        """
        if self.family == GCC:
            said = self._run("-march=native", "-Q", "--help=target")
            found = re.search(r"^\s*-march=\s+(\S+)", said, re.MULTILINE)
        else:
            said = self._run("-march=native", "-###", *_NOWHERE)
            found = re.search(r'"-target-cpu" "([^"]+)"', said)
        if found is None:
            raise KernsmithError(f"{self.name} does not say what -march=native stands for")
        return found[1]

    @property
    def compiles(self) -> bool:
        """Whether it compiles for that architecture unless it is told otherwise."""
        return self.target.is_of(self._run("-dumpmachine"))

    def _probe(self, *flags: str) -> tuple[bool, str]:
        clang = (f"--target={self.target.triple}", *_CLANG_FLAGS)
        target = (*self.target.flags, *(clang if self.family == CLANG else ()))
        return _probe(self.program, (*target, *flags))

    def _run(self, *options: str) -> str:
        return process.run([self.program, *options], timeout=_SECONDS).output


@cache
def find_compiler(name: str, arch: str = DEFAULT) -> Compiler:
    """A compiler by its program's name on PATH or in a private root, or by its path.

    arch: the architecture that it shall compile for.

    Raises:
        ProgramMissing: not installed.
        UserError: neither clang nor gcc.
    """
    program = _program(name)
    banner = banner_of(program)
    family = CLANG if "clang" in banner else GCC if "gcc" in banner.lower() else ""
    release = release_in(banner)
    if not family or not release:
        raise UserError(f"{name} is neither clang nor gcc: it calls itself {banner!r}")
    content = compiler_content(program, family)
    return Compiler(name, program, family, release, banner, content, find_arch(arch).target)


@cache
def default_compiler() -> str:
    """The newest installed clang, by the name of its program.

    Raises:
        ProgramMissing: there is no clang that is new enough.
    """
    suffixed = {path.name for path in programs(r"clang-\d+", path_folders())}
    for name in sorted(suffixed, key=number_behind, reverse=True):
        if number_behind(name) >= OLDEST_CLANG:
            return name
    if shutil.which(CLANG) and release_in(banner_of(CLANG))[:1] >= (OLDEST_CLANG,):
        return CLANG
    raise ProgramMissing(f"clang {OLDEST_CLANG} or newer", "make setup")


def compiler_programs(prefixes: Sequence[Path] = ()) -> dict[str, Path]:
    """Compilers on PATH, in private roots, and in these folders or their `bin`, by name.

    A program that is there under several names is told under the one with its version.
    """
    # ccache may stand before a compiler under the compiler's own name.
    on_path = [p for p in programs(_NAMES, path_folders()) if p.resolve().name != "ccache"]
    names = {program.name: program for program in reversed(on_path)}
    names |= {name: program for name, program in private_compilers().items() if name not in names}
    for prefix in prefixes:
        folders = [prefix.absolute(), prefix.absolute() / "bin"]
        names |= {str(program): program for program in programs(_NAMES, folders)}
    by_program: dict[Path, str] = {}
    for name, program in sorted(names.items(), key=lambda item: (len(item[0]), item[0])):
        by_program[program.resolve()] = name
    return {name: names[name] for name in by_program.values()}


def installed_compilers(arch: str = DEFAULT) -> tuple[Compiler, ...]:
    """Every gcc and clang here that compiles for an architecture, sorted by release."""
    found = []
    for name in compiler_programs():
        try:
            compiler = find_compiler(name, arch)
            found += [compiler] if compiler.compiles else []
        except KernsmithError:
            continue
    return tuple(sorted(found, key=lambda compiler: (compiler.family, compiler.release)))


def _program(name: str) -> str:
    if shutil.which(name):
        return name
    if (private := private_compiler(name)).exists():
        return str(private)
    package = Path(name).name
    remedy = f"apt-get install {package}"
    if re.fullmatch(r"gcc-\d+", name):
        remedy += f", or, if there is no such package here, kernsmith toolchain add {name}"
    raise ProgramMissing(name, remedy)


@cache
def _features(program: str, march: str) -> frozenset[str]:
    command = [program, f"-march={march}", "-dM", "-E", "-x", "c", "/dev/null"]
    return frozenset(_FEATURE.findall(process.run(command, timeout=_SECONDS).output))


@cache
def _probe(program: str, flags: tuple[str, ...]) -> tuple[bool, str]:
    """Compile nothing with these flags: whether that went well, and what the compiler said."""
    done = process.run(
        [program, *flags, "-x", "c", "-S", "/dev/null", "-o", "/dev/null"],
        timeout=_SECONDS,
        check=False,
    )
    return done.returncode == 0, done.output
