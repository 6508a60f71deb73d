# SPDX-License-Identifier: GPL-2.0-or-later
"""The programs of the silicon bench: their sources from Debian, and how they are compiled.

A program is a folder below `guest/programs` with a `program.toml` and a C file of its own, which
says what the work is (`program.h`).
"""

from __future__ import annotations

import hashlib
import shlex
import shutil
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from kernsmith import paths
from kernsmith.errors import UserError
from kernsmith.files import locked, write_text
from kernsmith.kernel.apt import PrivateApt
from kernsmith.kernel.source import Source, resolve_source
from kernsmith.kernel.unpack import unpack
from kernsmith.process import run
from kernsmith.silicon.builds import Build

Progress = Callable[[str, float | None], None]

_SUITE = "bookworm"
_FOLDER = "guest/programs"
_FRAME = "program.c"
_SECONDS = 3600.0


class Foreign(BaseModel):
    """`[[source]]`: C files of a Debian source package.

    files, without: patterns below the package's folder. include: folders there. copies: files
        that its configure would have made from others: `{"config.h.generic" = "config.h"}`, the
        copy beside the original.
    prepare: command lines to run in the package's folder once, where files have to be made on this
        machine. makes: what they leave there, for those who compile.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    debian: str
    files: tuple[str, ...] = Field(min_length=1)
    without: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    copies: dict[str, str] = {}
    prepare: tuple[str, ...] = ()
    makes: tuple[str, ...] = ()


class Kernel(BaseModel):
    """`[kernel]`: a Linux for ARCH=um, with the program's own files inside.

    source: of the kernel. config: a fragment over its tinyconfig, below `guest/programs`. files: C
        files there that are compiled with the kernel's flags. wrap: functions of the kernel that
        the program has its own of (`__wrap_NAME`). builds: the ways in which a kernel compiles.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    source: str
    config: str
    files: tuple[str, ...] = Field(min_length=1)
    wrap: tuple[str, ...] = ()
    builds: tuple[str, ...] = Field(min_length=1)


class Own(BaseModel):
    """`[own]`: C files and folders of headers below `guest/programs`, and libraries to link."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    files: tuple[str, ...] = Field(min_length=1)
    include: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()


class Table(BaseModel):
    """A `program.toml`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    description: str
    source: tuple[Foreign, ...] = ()
    kernel: Kernel | None = None
    own: Own

    @model_validator(mode="after")
    def _is_of_something(self) -> Table:
        if bool(self.source) == bool(self.kernel):
            raise ValueError("a program is compiled from either [[source]] or [kernel]")
        return self


@dataclass(frozen=True)
class Unit:
    """One C file, and the flags that it needs whatever the build is."""

    file: Path
    flags: tuple[str, ...]


@dataclass(frozen=True)
class KernelPart:
    """The kernel that a program is a part of.

    digest: of its source. tree: where that is. config: the fragment's file. files, wrap, builds: as
        in `Kernel`.
    """

    digest: str
    tree: Path
    config: Path
    files: tuple[Path, ...]
    wrap: tuple[str, ...]
    builds: tuple[str, ...]


@dataclass(frozen=True)
class Program:
    """A program whose sources are here.

    digest: of all that it is compiled from. kernel: what its units are linked with, if it is one.
    """

    name: str
    description: str
    units: tuple[Unit, ...]
    libraries: tuple[str, ...]
    digest: str
    kernel: KernelPart | None = None

    def takes(self, build: Build) -> bool:
        """Whether it can be compiled in this way."""
        return self.kernel is None or build.own or build.name in self.kernel.builds


@cache
def program_tables() -> dict[str, Table]:
    """All programs by name.

    Raises:
        UserError: a `program.toml` is not one.
    """
    tables = {}
    for file in sorted(paths.shipped(_FOLDER).glob("*/program.toml")):
        try:
            tables[file.parent.name] = Table.model_validate(tomllib.loads(file.read_text()))
        except (ValueError, ValidationError) as error:
            raise UserError(f"{file}: {error}") from None
    return tables


def check_programs(names: Sequence[str]) -> tuple[str, ...]:
    """These programs, or all.

    Raises:
        UserError: there is none of that name.
    """
    known = program_tables()
    for name in names:
        if name not in known:
            raise UserError(f"there is no program {name!r}: allowed are {', '.join(known)}")
    return tuple(name for name in known if not names or name in names)


def find_program(
    name: str, progress: Progress | None = None, source: Source | None = None
) -> Program:
    """A program with its sources, which are fetched when they are not here yet.

    source: of the kernel in it, if it has one, in place of its table's.

    Raises:
        UserError: there is no such program, or Debian's mirror has not got its source.
    """
    check_programs([name])
    table = program_tables()[name]
    own = paths.shipped(_FOLDER)
    digest = hashlib.sha256()
    units = []
    roots = []
    for foreign in table.source:
        root, content = _fetched(foreign.debian, progress)
        roots.append(root)
        digest.update(content.encode())
        _make_copies(root, foreign)
        prepare_source(root, foreign, progress)
        for file in foreign.makes:
            digest.update((root / file).read_bytes())
        flags = _flags(root, foreign.include) + _flags(own, table.own.include) + foreign.flags
        units += [Unit(file, ("-w", *flags)) for file in _files(root, foreign)]
    everywhere = [
        flag
        for root, foreign in zip(roots, table.source, strict=True)
        for flag in _flags(root, foreign.include) + _shared(foreign.flags)
    ]
    for file in (*table.own.files, _FRAME):
        own_flags = (*_flags(own, table.own.include), *table.own.flags)
        units.append(Unit(own / file, (*own_flags, *everywhere)))
    kernel = None
    if table.kernel:
        kernel = _kernel_part(table.kernel, progress, source)
        digest.update(kernel.digest.encode())
    own_files = [path for path in (own / name).rglob("*") if path.is_file()]
    elsewhere = [own / file for file in table.own.files if file.startswith("../")]
    for path in sorted(own_files) + sorted(own.glob("*.?")) + elsewhere:
        digest.update(path.read_bytes())
    return Program(
        name, table.description, tuple(units), table.own.libraries, digest.hexdigest(), kernel
    )


def _kernel_part(
    kernel: Kernel, progress: Progress | None, source: Source | None = None
) -> KernelPart:
    own = paths.shipped(_FOLDER)
    source = source or resolve_source(kernel.source, paths.sources(), progress=progress)
    files = tuple(own / file for file in kernel.files)
    config = own / kernel.config
    return KernelPart(source.digest, source.path, config, files, kernel.wrap, kernel.builds)


def _files(root: Path, foreign: Foreign) -> list[Path]:
    without = {path for pattern in foreign.without for path in root.glob(pattern)}
    found = sorted({path for pattern in foreign.files for path in root.glob(pattern)} - without)
    if not found:
        raise UserError(f"Debian's source of {foreign.debian} has no {', '.join(foreign.files)}")
    return found


def _flags(root: Path, folders: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"-I{root / folder}" for folder in folders)


def _shared(flags: tuple[str, ...]) -> tuple[str, ...]:
    """Those that a library's headers have to be read with, too."""
    return tuple(flag for flag in flags if flag.startswith("-DPCRE2_"))


def _make_copies(root: Path, foreign: Foreign) -> None:
    for original, copy in foreign.copies.items():
        source = root / original
        target = source.with_name(copy)
        if not target.exists():
            shutil.copyfile(source, target)


def prepare_source(root: Path, foreign: Foreign, progress: Progress | None = None) -> None:
    """Run a package's commands in its folder, unless these were run there before.

    Raises:
        ProcessFailed: one of them failed.
    """
    told = root.parent / "prepared"
    commands = "\n".join(foreign.prepare)
    with locked(root.parent / "lock"):
        if not commands or (told.exists() and told.read_text() == commands):
            return
        for number, command in enumerate(foreign.prepare):
            if progress:
                progress(f"preparing {foreign.debian}: {command.split()[0]}", None)
            log = root.parent / f"prepare-{number}.log"
            run(shlex.split(command), cwd=root, log=log, timeout=_SECONDS, capture=False)
        write_text(told, commands)


def _fetched(package: str, progress: Progress | None) -> tuple[Path, str]:
    """The unpacked upstream source of a Debian package, and the tarball's digest."""
    folder = paths.cache_root() / "programs" / "sources" / package
    tree, told = folder / "tree", folder / "sha256"
    with locked(folder / "lock"):
        if not told.exists():
            apt = PrivateApt(paths.cache_root() / "programs" / "apt", (_SUITE,), sources=True)
            tarball = apt.download_source(package, folder, progress)
            shutil.rmtree(tree, ignore_errors=True)
            unpack(tarball, tree)
            told.write_text(hashlib.sha256(tarball.read_bytes()).hexdigest())
            tarball.unlink()
    return tree, told.read_text()
