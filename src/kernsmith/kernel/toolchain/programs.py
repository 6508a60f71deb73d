# SPDX-License-Identifier: GPL-2.0-or-later
"""Where compilers and linkers lie, and what they call themselves."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from kernsmith import paths, process
from kernsmith.errors import ProgramMissing

# The name of the private root with rustc, its library's source, and bindgen.
RUST = "rust"


def private_root(compiler: str) -> Path:
    """Where the private root of a compiler (`gcc-15`, `rust`) is or will be."""
    return paths.cache_root() / "toolchains" / compiler


def private_compiler(compiler: str) -> Path:
    """The compiler's program in its private root, whether it is there or not."""
    return private_root(compiler) / "usr/bin" / compiler


def private_compilers() -> dict[str, Path]:
    """The C compilers of all private roots that are complete, by name."""
    roots = sorted((paths.cache_root() / "toolchains").glob("*/toolchain.json"))
    names = (path.parent.name for path in roots)
    return {name: private_compiler(name) for name in names if name != RUST}


def programs(pattern: str, folders: Sequence[Path]) -> list[Path]:
    """Executables in these folders whose whole name matches, in their order, by name in each."""
    found = []
    for folder in folders:
        found += [entry for entry in entries_of(folder) if re.fullmatch(pattern, entry.name)]
    return [program for program in found if shutil.which(program)]


def entries_of(folder: Path) -> list[Path]:
    """What is in a folder where programs or libraries are looked for, by name; nothing where it is
    not there or may not be read: shells pass it over, too."""
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def path_folders() -> list[Path]:
    """The folders of PATH, each once."""
    return list(dict.fromkeys(Path(folder) for folder in os.get_exec_path()))


def required(program: str, package: str) -> str:
    """The program; raises ProgramMissing, with the package that has it, if it is not there."""
    if shutil.which(program) is None:
        raise ProgramMissing(program, f"apt-get install {package}")
    return program


def suffix_of(program: str) -> str:
    """`-22` of `clang-22`; empty if there is none."""
    match = re.search(r"-\d+$", program)
    return match[0] if match else ""


def number_behind(program: str) -> int:
    """22 of `clang-22`; 0 if there is none."""
    return int(suffix_of(program).removeprefix("-") or 0)


@cache
def banner_of(program: str) -> str:
    """First line of what it says to `--version`."""
    lines = process.run([program, "--version"], timeout=30).output.splitlines()
    return lines[0].strip() if lines else ""


def release_in(banner: str) -> tuple[int, ...]:
    """The version in a banner: behind `version`, or the last word (`gcc-12 (Debian …) 12.2.0`)."""
    found = re.search(r"version (\d+(?:\.\d+)+)", banner) or re.search(
        r"LLD (\d+(?:\.\d+)+)|[ )](\d+(?:\.\d+)+)(?: \d{8})?$", banner
    )
    text = next((group for group in found.groups() if group), "") if found else ""
    return tuple(int(part) for part in text.split(".")) if text else ()
