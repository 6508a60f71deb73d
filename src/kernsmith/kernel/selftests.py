# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel's own selftests (tools/testing/selftests), compiled for the guest.

Only those that are listed (`configs/selftests`): they need no root file system and no shared
library, and end in seconds. They are compiled from the source that the kernel is of, by the
host's gcc and with the host's headers of the C library; those of the kernel that they lack are
the source's. What a source does not have, or what does not compile, is left out, and told.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernsmith import paths, process
from kernsmith.errors import KernsmithError, ProcessFailed
from kernsmith.files import locked, write_text
from kernsmith.kernel.source import Source
from kernsmith.kernel.toolchain.content import GCC
from kernsmith.paths import shipped
from kernsmith.study.variant import digest_of

NAME = "selftests"
_BELOW = "tools/testing/selftests"
_INCLUDED = ("", "futex/include")
_FLAGS = ("-static", "-O2", "-w", "-D_GNU_SOURCE")
_LIBRARIES = ("-lpthread", "-lrt")
_COMPILE_SECONDS = 120.0
_FILE = f"{NAME}.toml"
_LEFT_OUT = "left-out"


class NoSelftests(KernsmithError):
    """A source of which none of the selftests compiles."""


@dataclass(frozen=True)
class Selftests:
    """Compiled. workload: the file of a workload that runs all of them. programs: their names.
    left_out: those of the list that the source has not, or that do not compile."""

    workload: Path
    programs: tuple[str, ...]
    left_out: tuple[str, ...]


def runner_program() -> Path:
    """Where the build puts what runs them in the guest (guest/selftests)."""
    return shipped("build", "guest", f"kernsmith-{NAME}")


def compile_selftests(source: Source, say: Callable[[str], None]) -> Selftests:
    """Compile them, unless that was done before. say: called with what is left out.

    Raises:
        NoSelftests: nothing is left.
        ProgramMissing: there is no gcc.
    """
    listed = listed_selftests()
    key = digest_of([source.digest, listed, _FLAGS])[:20]
    folder = paths.cache_root() / NAME / key
    with locked(folder.with_suffix(".lock")):
        if not (folder / _FILE).exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            left_out = _compile(source.path / _BELOW, listed, folder)
            write_text(folder / _LEFT_OUT, "".join(f"{name}\n" for name in left_out))
            write_text(folder / _FILE, _workload(_programs(listed, left_out)))
        shutil.copy2(runner_program(), folder / "run")
    left_out = tuple((folder / _LEFT_OUT).read_text(encoding="utf-8").splitlines())
    programs = _programs(listed, left_out)
    if not programs:
        raise NoSelftests(f"of {source.name} none of the selftests in {_BELOW} compiles")
    if left_out:
        say(f"selftests left out: {', '.join(left_out)}")
    return Selftests(folder / _FILE, programs, left_out)


def listed_selftests() -> tuple[str, ...]:
    """Those that are run, by their paths below the folder of selftests, without `.c`."""
    lines = shipped("configs", NAME).read_text(encoding="utf-8").splitlines()
    return tuple(line for line in lines if line and not line.startswith("#"))


def _programs(listed: Sequence[str], left_out: Sequence[str]) -> tuple[str, ...]:
    return tuple(Path(name).name for name in listed if name not in left_out)


def _compile(below: Path, listed: Sequence[str], folder: Path) -> tuple[str, ...]:
    """Returns those that did not work."""
    left_out = []
    includes = [f"-I{below / each}" for each in _INCLUDED]
    for name in listed:
        source = below / f"{name}.c"
        target = folder / Path(name).name
        words: list[str | Path] = [GCC, *_FLAGS, *includes, "-o", target, source, *_LIBRARIES]
        log = folder / "compile.log"
        try:
            process.run(words, log=log, timeout=_COMPILE_SECONDS, cwd=below)
        except (ProcessFailed, OSError):
            left_out.append(name)
    return tuple(left_out)


def _workload(programs: Sequence[str]) -> str:
    quoted = ", ".join(f'"{name}"' for name in programs)
    return (
        f'name = "{NAME}"\ndescription = "the kernel\'s own selftests"\nprogram = "run"\n'
        f"arguments = [{quoted}]\nfiles = [{quoted}]\nrounds = 1\nwarmup = 0\n"
    )
