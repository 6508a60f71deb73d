# SPDX-License-Identifier: GPL-2.0-or-later
"""Which compilers there are, and where each comes from: all found by asking."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kernsmith import process
from kernsmith.errors import KernsmithError
from kernsmith.kernel.private_root import find_private_root
from kernsmith.kernel.toolchain.compiler import compiler_programs, default_compiler
from kernsmith.kernel.toolchain.programs import private_compiler
from kernsmith.kernel.toolchain.toolchain import Toolchain, find_toolchain


@dataclass(frozen=True)
class Installed:
    """A compiler that lies here.

    name: what a study writes. program: its path.
    toolchain: it, with the linker that it is used with when a study names none; None when it
        cannot be used, and problem says why.
    origin: a Debian package with its version, a private root, or the path alone.
    default: whether it is what studies without a compiler are built with.
    """

    name: str
    program: str
    toolchain: Toolchain | None
    origin: str
    default: bool
    problem: str = ""


def list_toolchains(prefixes: Sequence[Path] = ()) -> list[Installed]:
    """Compilers on PATH, in private roots, and in these folders or their `bin`."""
    found = [_look_at(name, program) for name, program in compiler_programs(prefixes).items()]
    return sorted(found, key=_place)


def _place(found: Installed) -> tuple[str, tuple[int, ...], str]:
    if found.toolchain is None:
        return "", (), found.name
    return found.toolchain.compiler.family, found.toolchain.compiler.release, found.name


def _look_at(name: str, program: Path) -> Installed:
    toolchain, problem = None, ""
    try:
        toolchain = find_toolchain(name)
    except KernsmithError as error:
        problem = str(error).splitlines()[0]
    default = toolchain is not None and name == _default()
    return Installed(name, str(program), toolchain, _origin(name, program), default, problem)


def _default() -> str:
    try:
        return default_compiler()
    except KernsmithError:
        return ""


def _origin(name: str, program: Path) -> str:
    if program == private_compiler(name) and (root := find_private_root(name)):
        return f"private root: {root.package} of Debian {root.suite}"
    for path in (program, program.resolve()):
        asked = process.run(
            ["dpkg-query", "--search", path], timeout=30, check=False, merge=False
        ).output
        if asked:
            package = asked.partition(":")[0]
            shown = ["dpkg-query", "--show", "--showformat=${Version}", package]
            return f"Debian package {package} {process.run(shown, timeout=30).output}"
    return str(program)
