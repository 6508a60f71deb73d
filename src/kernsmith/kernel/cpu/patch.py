# SPDX-License-Identifier: GPL-2.0-or-later
"""A patch for a kernel tree: the processor to compile for as a choice in Kconfig.

The patch is made from the catalogue for the tree at hand and touches two files. The choice stands
below the kernel's own processor family and is there only while that is generic, so all that
depends on the family (cache line sizes, required instructions) stays what it is. Nothing changes
until something is chosen.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from pathlib import Path

from kernsmith.errors import UserError
from kernsmith.kernel.cpu.kconfig import (
    PREFIX,
    Option,
    Surroundings,
    kconfig_block,
    makefile_block,
    options,
)
from kernsmith.kernel.tree import kernel_version

KCONFIG = "arch/x86/Kconfig.cpu"
MAKEFILE = "arch/x86/Makefile"
_INIT = "init/Kconfig"

# Before these lines, in the 64-bit part of the Makefile, the new ones are inserted.
_KCONFIG_PLACE = re.compile(r"^config X86_GENERIC$", re.MULTILINE)
_MAKEFILE_PLACE = re.compile(r"^[ \t]*KBUILD_CFLAGS \+= -mno-red-zone$", re.MULTILINE)
_MAKEFILE_BEFORE = re.compile(r"^[ \t]*BITS := 64$", re.MULTILINE)
_FOREIGN = re.compile(r"^config (X86_64_VERSION|MZEN\w*|MNATIVE\w*)$", re.MULTILINE)


@dataclass(frozen=True)
class Patch:
    """What a tree needs.

    text: the patch for `patch -p1` and `git apply`; empty when the tree has it already.
    options: all that can be chosen with it, but the default.
    """

    tree: Path
    version: str
    text: str
    options: tuple[Option, ...]


def make_patch(path: Path) -> Patch:
    """The patch for the tree in a folder, which is only read.

    Raises UserError for a folder that is no kernel source, and for one whose files are not as the
    patch must find them.
    """
    version = kernel_version(path)
    files = {name: _read(path, name) for name in (KCONFIG, MAKEFILE, _INIT)}
    around = _surroundings(files)
    blocks = {KCONFIG: kconfig_block(around), MAKEFILE: makefile_block(around)}
    if all(block in files[name] for name, block in blocks.items()):
        return Patch(path, version, "", options(around))
    _check_unpatched(path, files[KCONFIG])
    differences = [
        _difference(name, files[name], _inserted(path, name, files[name], block))
        for name, block in blocks.items()
    ]
    return Patch(path, version, _header(version) + "".join(differences), options(around))


def _read(path: Path, name: str) -> str:
    try:
        return (path / name).read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        raise UserError(f"{path} has no {name}: there is no x86 kernel to patch") from None
    except UnicodeDecodeError:
        raise UserError(f"{path}/{name} is no text file: nothing can be patched") from None


def _surroundings(files: dict[str, str]) -> Surroundings:
    def has(name: str, symbol: str) -> bool:
        return re.search(rf"^config {symbol}$", files[name], re.MULTILINE) is not None

    return Surroundings(
        generic=has(KCONFIG, "GENERIC_CPU"),
        native=has(KCONFIG, "X86_NATIVE_CPU"),
        rust="KBUILD_RUSTFLAGS" in files[MAKEFILE],
        rust_llvm=has(_INIT, "RUSTC_LLVM_VERSION"),
    )


def _check_unpatched(path: Path, kconfig: str) -> None:
    if f"config {PREFIX}_DEFAULT\n" in kconfig:
        raise UserError(
            f"{path}/{KCONFIG} has the choices of another release of kernsmith, or they were "
            "changed: take that patch out first (patch -R -p1)"
        )
    if found := _FOREIGN.search(kconfig):
        raise UserError(
            f"{path}/{KCONFIG} has choices of processors from another patch ({found[0]}): take "
            "that out first"
        )


def _inserted(path: Path, name: str, old: str, block: str) -> str:
    place = _KCONFIG_PLACE if name == KCONFIG else _MAKEFILE_PLACE
    start = 0
    if name == MAKEFILE:
        before = _MAKEFILE_BEFORE.search(old)
        start = before.end() if before else len(old)
    found = list(place.finditer(old, start))
    if len(found) != 1:
        raise UserError(
            f"{path}/{name} is not written as in the kernels that this is for (6.1 to 7.3): give "
            "the compiler the flag without a patch, by KCFLAGS=-march=..."
        )
    at = found[0].start()
    return old[:at] + block + old[at:]


def _difference(name: str, old: str, new: str) -> str:
    return "".join(
        difflib.unified_diff(
            old.splitlines(keepends=True), new.splitlines(keepends=True), f"a/{name}", f"b/{name}"
        )
    )


def _header(version: str) -> str:
    return (
        f"x86: the processor to compile for, as a choice in Kconfig (Linux {version})\n\n"
        "Made by kernsmith cpu patch. Processor type and features -> Processor to compile for.\n\n"
    )
