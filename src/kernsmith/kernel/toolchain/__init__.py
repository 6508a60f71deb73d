# SPDX-License-Identifier: GPL-2.0-or-later
"""Compilers and linkers: which programs a variant is built with, and exactly which versions."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from kernsmith import paths, process
from kernsmith.errors import ProgramMissing, UserError
from kernsmith.kernel.toolchain.content import CLANG, GCC, compiler_content, linker_content
from kernsmith.study.variant import digest_of

LLD = "lld"
BFD = "bfd"
# The oldest clang that is taken without being named: what profiles need.
DEFAULT_MINIMUM = 19
# A compiler's probes see the target and the restrictions that every kernel file is compiled with.
_KERNEL_FLAGS = ("-m64", "-ffreestanding", "-mno-sse", "-mno-sse2", "-mno-mmx", "-mno-80387")
# CLANG_FLAGS of scripts/Makefile.clang: without them clang takes what it does not know.
_CLANG_FLAGS = (
    "--target=x86_64-linux-gnu", "-Werror=unknown-warning-option",
    "-Werror=ignored-optimization-argument", "-Werror=option-ignored",
    "-Werror=unused-command-line-argument",
)  # fmt: skip


@dataclass(frozen=True)
class Toolchain:
    """The programs of one build.

    name: the compiler as a study calls it (`gcc-12`).
    family: `clang` or `gcc`.
    version: major version of the compiler. release: all of it, `(12, 2, 0)`.
    compiler, linker: the programs, as they are started.
    linker_family: `lld` or `bfd` (GNU ld). linker_release: its version.
    own_linker: whether the linker is the one that is taken when no study names one.
    make_variables: what kbuild is told (`LLVM=-22`, or `CC=` and `LD=`).
    banners: first line of `--version` of each program, for people.
    contents: digest of each program's content, for identity.
    """

    name: str
    family: str
    version: int
    release: tuple[int, ...]
    compiler: str
    linker: str
    linker_family: str
    linker_release: tuple[int, ...]
    own_linker: bool
    make_variables: tuple[tuple[str, str], ...]
    banners: tuple[tuple[str, str], ...]
    contents: tuple[tuple[str, str], ...]

    @property
    def host_compiler(self) -> str:
        """The compiler of the programs that run while a kernel is built (kbuild's HOSTCC)."""
        return self.compiler if self.family == CLANG else GCC

    @property
    def compilers(self) -> str:
        """Digest of the content of the compiler and of the host's: what objects depend on."""
        host = "" if self.family == CLANG else compiler_content(GCC, GCC)
        return digest_of([dict(self.contents)["compiler"], host])

    @property
    def orders_functions(self) -> bool:
        """Whether the linker takes an order of functions: only lld does, by symbols."""
        return self.linker_family == LLD

    def tool(self, name: str) -> str:
        """A program of the same LLVM as the linker if it is installed (an lld may come alone), else
        of the newest: `llvm-nm` → `llvm-nm-22`.

        Raises:
            ProgramMissing: it is not installed.
        """
        suffix = ""
        for linker in [self.linker] * (self.linker_family == LLD) + [_newest_lld()]:
            suffix = Path(linker).name.removeprefix("ld.lld")
            beside = Path(linker).with_name(f"{name}{suffix}")
            program = str(beside) if beside.is_absolute() and beside.exists() else f"{name}{suffix}"
            if shutil.which(program):
                return program
        raise ProgramMissing(f"{name}{suffix}", f"apt-get install llvm{suffix}")

    def refuses(self, flags: Sequence[str]) -> str:
        """Why the compiler does not take these flags, in its own words; empty if it does."""
        taken, said = _probe(self.compiler, self.family, tuple(flags))
        told = re.findall(r"error: (.*)$", said, re.MULTILINE) or said.splitlines()[-1:]
        return "" if taken else told[0] if told else "it says nothing"

    def says(self, flags: Sequence[str]) -> str:
        """All that the compiler says to these flags."""
        return _probe(self.compiler, self.family, tuple(flags))[1]


def find_toolchain(compiler: str = "", linker: str = "") -> Toolchain:
    """The toolchain of a compiler and a linker.

    compiler: a program on PATH, one of a private root (`kernsmith toolchain add`), or a path;
        empty is `default_compiler()`.
    linker: `lld`, `lld-22`, `bfd`, or a path; empty is the compiler's own lld, else the newest.
        gcc's objects are linked by lld, too: GNU ld cannot order functions.

    Raises:
        ProgramMissing: compiler or linker not installed.
        UserError: neither clang nor gcc, or no linker that is known.
    """
    return _find(compiler or default_compiler(), linker)


def default_compiler() -> str:
    """The newest installed clang, by the name of its program.

    Raises:
        ProgramMissing: there is no clang that is new enough.
    """
    return _default_compiler()


def private_root(compiler: str) -> Path:
    """Where the private root of a compiler (`gcc-15`) is or will be."""
    return paths.cache_root() / "toolchains" / compiler


def private_compiler(compiler: str) -> Path:
    """The compiler's program in its private root, whether it is there or not."""
    return private_root(compiler) / "usr/bin" / compiler


def programs(pattern: str, folders: Sequence[Path]) -> list[Path]:
    """Executables in these folders whose whole name matches, in their order, by name in each."""
    found = []
    for folder in folders:
        entries = sorted(folder.iterdir()) if folder.is_dir() else []
        found += [entry for entry in entries if re.fullmatch(pattern, entry.name)]
    return [program for program in found if shutil.which(program)]


def path_folders() -> list[Path]:
    """The folders of PATH, each once."""
    return list(dict.fromkeys(Path(folder) for folder in os.get_exec_path()))


@cache
def _find(name: str, wanted: str) -> Toolchain:
    program = _program(name)
    banner = _banner(program)
    family = CLANG if "clang" in banner else GCC if "gcc" in banner.lower() else ""
    release = _release(banner)
    if not family or not release:
        raise UserError(f"{name} is neither clang nor gcc: it calls itself {banner!r}")
    own = _own_linker(program, family)
    linker = _named_linker(wanted, own)
    linker_banner = _banner(linker)
    linker_family = LLD if "LLD" in linker_banner else BFD if "GNU ld" in linker_banner else ""
    if not linker_family:
        raise UserError(f"{linker} is neither lld nor GNU ld: it calls itself {linker_banner!r}")
    return Toolchain(
        name=name,
        family=family,
        version=release[0],
        release=release,
        compiler=program,
        linker=linker,
        linker_family=linker_family,
        linker_release=_release(linker_banner),
        own_linker=linker == own,
        make_variables=_make_variables(family, program, linker, own),
        banners=(("compiler", banner), ("linker", linker_banner)),
        contents=(
            ("compiler", compiler_content(program, family)),
            ("linker", linker_content(linker)),
        ),
    )


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


def _suffix(program: str) -> str:
    match = re.search(r"-\d+$", program)
    return match[0] if match else ""


def _own_linker(program: str, family: str) -> str:
    """The lld that came with a clang, else the newest."""
    if family == CLANG:
        name = f"ld.lld{_suffix(program)}"
        beside = Path(program).with_name(name)
        if Path(program).is_absolute() and beside.exists():
            return str(beside)
        if shutil.which(name):
            return name
    return _newest_lld()


def _named_linker(wanted: str, own: str) -> str:
    if not wanted:
        return own
    if wanted == LLD:
        return _newest_lld()
    if wanted == BFD:
        return _require("ld.bfd", "binutils")
    if match := re.fullmatch(r"lld(-\d+)", wanted):
        return _require(f"ld.lld{match[1]}", wanted)
    if wanted.startswith("/"):
        return _require(wanted, Path(wanted).name)
    raise UserError(
        f"there is no linker {wanted!r}: allowed are lld, lld-22 and the like, bfd (GNU ld), or "
        "an absolute path"
    )


def _make_variables(
    family: str, program: str, linker: str, own: str
) -> tuple[tuple[str, str], ...]:
    """What kbuild is told; LLVM= names all of LLVM's tools (Documentation/kbuild/llvm.rst)."""
    if family == GCC:
        return (("CC", program), ("LD", linker))
    variables = {"LLVM": _llvm(program, own), "CC": program}
    if linker != own:
        variables["LD"] = linker
    return tuple(variables.items())


def _llvm(program: str, own: str) -> str:
    """The value of kbuild's LLVM=: a suffix, or a folder of programs with a slash behind it."""
    suffix = _suffix(own)
    if Path(own).is_absolute() and not suffix:
        return f"{Path(own).parent}/"
    return suffix or "1"


@cache
def _newest_lld() -> str:
    found = programs(r"ld\.lld(-\d+)?", path_folders())
    if not found:
        raise ProgramMissing("ld.lld", "apt-get install lld-22")
    return max((path.name for path in found), key=_by_suffix)


@cache
def _default_compiler() -> str:
    suffixed = {path.name for path in programs(r"clang-\d+", path_folders())}
    for name in sorted(suffixed, key=_by_suffix, reverse=True):
        if _by_suffix(name) >= DEFAULT_MINIMUM:
            return name
    if shutil.which(CLANG) and _release(_banner(CLANG))[:1] >= (DEFAULT_MINIMUM,):
        return CLANG
    raise ProgramMissing(f"clang {DEFAULT_MINIMUM} or newer", "make setup")


def _by_suffix(name: str) -> int:
    return int(_suffix(name).removeprefix("-") or 0)


def _require(program: str, package: str) -> str:
    if shutil.which(program) is None:
        raise ProgramMissing(program, f"apt-get install {package}")
    return program


@cache
def _banner(program: str) -> str:
    lines = process.run([program, "--version"], timeout=30).output.splitlines()
    return lines[0].strip() if lines else ""


def _release(banner: str) -> tuple[int, ...]:
    """The version in a banner: behind `version`, or the last word (`gcc-12 (Debian …) 12.2.0`)."""
    found = re.search(r"version (\d+(?:\.\d+)+)", banner) or re.search(
        r"LLD (\d+(?:\.\d+)+)|[ )](\d+(?:\.\d+)+)(?: \d{8})?$", banner
    )
    text = next((group for group in found.groups() if group), "") if found else ""
    return tuple(int(part) for part in text.split(".")) if text else ()


@cache
def _probe(compiler: str, family: str, flags: tuple[str, ...]) -> tuple[bool, str]:
    """Compile nothing with these flags: whether that went well, and what the compiler said."""
    command = [compiler, *_KERNEL_FLAGS, *(_CLANG_FLAGS if family == CLANG else ()), *flags]
    done = process.run(
        [*command, "-x", "c", "-S", "/dev/null", "-o", "/dev/null"], timeout=60, check=False
    )
    return done.returncode == 0, done.output
