# SPDX-License-Identifier: GPL-2.0-or-later
"""Compilers that the system's own Debian does not have: private roots, made by mmdebstrap.

The packages of a newer suite are only extracted, not installed: no script of theirs runs, no
privilege is needed, and nothing outside the folder changes. What keeps such programs from running
on an older system is the C library. So each of them is put aside as `NAME.elf`, and a script takes
its place that starts it with the root's own dynamic loader and libraries::

    usr/bin/gcc-15                 what a study names
    usr/bin/gcc-15.elf             Debian's program
    toolchain.json                 which suite and version it is

The root `rust` has rustc, the source of its library, and bindgen: a config with `CONFIG_RUST` takes
them from there (`kernel.toolchain.rust`).

A driver finds cc1 and the assembler by its own name, relative to where it lies; thus scripts that
start scripts work, at the cost of a millisecond each. (Other interpreters in the programs' headers
would cost nothing, but cc1 is not position-independent and breaks when its header grows.)
"""

from __future__ import annotations

import json
import os
import re
import shutil
import struct
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from kernsmith import process
from kernsmith.arch import find_arch
from kernsmith.errors import UserError
from kernsmith.files import locked, write_text
from kernsmith.kernel.apt import KEYRINGS, PrivateApt, Progress, acquire_options, host_mirrors
from kernsmith.kernel.toolchain.programs import RUST, private_root

# Where newer compilers are, the oldest suite first: it asks least of the system.
SUITES = ("trixie", "forky", "sid")
# rustc reads the profiles that clang's tools write: its LLVM must not be older than theirs.
_RUST_SUITES = ("forky", "sid", "trixie")
_RUST_PACKAGES = ("rustc", "rust-src", "bindgen")
ROOT_SECONDS = 3600.0
_HOST = find_arch().target
_LIBRARIES = f"usr/lib/{_HOST.triple}"
_ARCHIVES = "var/cache/apt/archives"
_PT_INTERP = 3
_WRAPPER = """#!/bin/sh
# {package}: started by the C library of its own suite
here=${{0%/*}}
exec "$here/{libraries}/{loader}" --library-path "$here/{libraries}" \\
    --argv0 "$0" "$here/{program}" "$@"
"""


@dataclass(frozen=True)
class PrivateRoot:
    """A compiler in a root of its own. package: name and version, as Debian calls it.

    compiler: `gcc-15` and the like, or `rust`.
    """

    compiler: str
    suite: str
    package: str

    @property
    def program(self) -> Path:
        """What is started."""
        return private_root(self.compiler) / "usr/bin" / _packages(self.compiler)[0]


def add_toolchain(compiler: str, progress: Progress | None = None) -> PrivateRoot:
    """Make the private root of a compiler, or find the one that was made before.

    compiler: `gcc-15` and the like, or `rust`.
    progress: called with what is being done.

    Raises:
        UserError: no such compiler, no Debian mirror in the system's apt sources.
        ProcessFailed: mmdebstrap ended with an error. The same call goes on with the packages that
            were downloaded.
    """
    if compiler != RUST and not re.fullmatch(r"gcc-\d+", compiler):
        raise UserError(
            f"there is no private root for {compiler!r}: allowed are gcc-13, gcc-14, gcc-15 and "
            f"the like, and {RUST} (install clang by apt-get, or name it by its path)"
        )
    root = private_root(compiler)
    with locked(root.with_name("lock")):
        return find_private_root(compiler) or _make(compiler, root, progress)


def find_private_root(compiler: str) -> PrivateRoot | None:
    """The private root of a compiler, if it is there and complete."""
    try:
        known = json.loads((private_root(compiler) / "toolchain.json").read_text(encoding="utf-8"))
        return PrivateRoot(**known)
    except (OSError, ValueError, TypeError):
        return None


def _make(compiler: str, root: Path, progress: Progress | None) -> PrivateRoot:
    apt = PrivateApt(root.parent / "apt", suites=SUITES)
    apt.update(progress)
    packages = _packages(compiler)
    offers = apt.offers(packages[0])
    suites = _RUST_SUITES if compiler == RUST else SUITES
    suite = next((suite for suite in suites if suite in offers), None)
    if suite is None:
        have = [name for name in apt.names("gcc-") if re.fullmatch(r"gcc-\d+", name)]
        raise UserError(
            f"Debian has no {compiler}; it has {', '.join(sorted(have, key=_number)) or 'no gcc'}"
        )
    part = root.with_name(f"{compiler}.part")
    _extract(compiler, suite, part, progress)
    kept = PrivateRoot(compiler, suite, f"{packages[0]} {offers[suite]}")
    _wrap(part, kept.package)
    _check(part, compiler)
    write_text(part / "toolchain.json", json.dumps(asdict(kept), indent=2) + "\n")
    shutil.rmtree(root, ignore_errors=True)
    part.rename(root)
    return kept


def _extract(compiler: str, suite: str, part: Path, progress: Progress | None) -> None:
    """Download and extract the compiler with all it depends on, keeping what was downloaded."""
    downloads = part.with_suffix(".debs")
    _keep_downloads(part, downloads)
    mirror, _ = host_mirrors()
    assert mirror is not None  # PrivateApt has refused else
    keyring = next((file for file in KEYRINGS if file.exists()), None)
    give = f'mkdir -p "$1/{_ARCHIVES}" && cp "{downloads}"/*.deb "$1/{_ARCHIVES}/"'
    downloaded = any(downloads.glob("*.deb"))
    command: list[str | Path] = [
        "mmdebstrap", "--mode=chrootless", "--variant=extract", f"--architectures={_HOST.debian}",
        "--components=main", f"--include={','.join(_packages(compiler))}",
        *([f"--keyring={keyring}"] if keyring else []),
        *(f"--aptopt={option}" for option in acquire_options()),
        *([f"--setup-hook={give}", "--skip=download/empty"] if downloaded else []),
        suite, part, mirror,
    ]  # fmt: skip

    def tell(line: str) -> None:
        if progress and (match := re.match(r"I: (.*)", line)):
            progress(f"{compiler} from {suite}: {match[1]}", None)

    try:
        process.run(
            command, log=part.with_suffix(".log"), timeout=ROOT_SECONDS, on_line=tell, capture=False
        )
    except BaseException:
        _keep_downloads(part, downloads)
        raise
    shutil.rmtree(downloads, ignore_errors=True)


def _keep_downloads(part: Path, downloads: Path) -> None:
    """Put aside the packages of a root that was not finished, and clear it away."""
    downloads.mkdir(exist_ok=True)
    for deb in (part / _ARCHIVES).glob("*.deb"):
        deb.replace(downloads / deb.name)
    shutil.rmtree(part, ignore_errors=True)


def _wrap(root: Path, package: str) -> None:
    """Replace each program, and each link to one, by a script that starts it."""
    programs = set(_programs(root))
    links = [
        path
        for folder in ("usr/bin", "usr/libexec")
        for path in (root / folder).rglob("*")
        if path.is_symlink() and path.resolve() in programs
    ]
    targets = {path: path for path in programs} | {link: link.resolve() for link in links}
    # The driver looks for `as` where cc1 is, and on PATH only then.
    for cc1 in programs:
        if cc1.name == "cc1":
            targets[cc1.with_name("as")] = (root / f"usr/bin/{_HOST.triple}-as").resolve()
    for program in programs:
        program.rename(program.with_name(f"{program.name}.elf"))
    for path, program in targets.items():
        path.unlink(missing_ok=True)
        aside = program.with_name(f"{program.name}.elf")
        text = _WRAPPER.format(
            package=package,
            loader=_HOST.loader,
            libraries=os.path.relpath(root / _LIBRARIES, path.parent),
            program=os.path.relpath(aside, path.parent),
        )
        path.write_text(text)
        path.chmod(0o755)


def _programs(root: Path) -> Iterator[Path]:
    root = root.resolve()
    for folder in ("usr/bin", "usr/libexec"):
        for path in sorted((root / folder).rglob("*")):
            if path.is_file() and not path.is_symlink() and _is_program(path):
                yield path


def _is_program(path: Path) -> bool:
    """Whether a file is an ELF64 program that names a dynamic loader (PT_INTERP; System V gABI)."""
    with path.open("rb") as file:
        header = file.read(64)
        if header[:5] != b"\x7fELF\x02" or ".so" in path.name:
            return False
        start, size, count = (
            struct.unpack_from("<Q", header, 32)[0],
            *struct.unpack_from("<HH", header, 54),
        )
        file.seek(start)
        table = file.read(size * count)
    kinds = (struct.unpack_from("<I", table, index * size)[0] for index in range(count))
    return _PT_INTERP in kinds


def _packages(compiler: str) -> tuple[str, ...]:
    """What is extracted; the first one is called like its program."""
    return _RUST_PACKAGES if compiler == RUST else (compiler,)


def _check(root: Path, compiler: str) -> None:
    """That the compiler runs here: it compiles and assembles a function."""
    compiled, programs = root / "check.o", root / "usr/bin"
    command: list[str | Path] = [programs / compiler, "-O2", "-x", "c", "-c", "-", "-o", compiled]
    text = "int answer(void) { return 42; }\n"
    if compiler == RUST:
        process.run([programs / "bindgen", "--version"], timeout=120)
        command = [programs / "rustc", "--crate-type=lib", "--emit=obj", "-", "-o", compiled]
        text = "pub fn answer() -> i32 { 42 }\n"
    process.run(command, input=text, timeout=120)
    compiled.unlink()


def _number(name: str) -> int:
    return int(name.rpartition("-")[2])
