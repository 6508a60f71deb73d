# SPDX-License-Identifier: GPL-2.0-or-later
"""What a compiler or linker is: the content of its files, not what it calls itself.

A compiler that is built anew keeps its name and its version, and compiles otherwise. The program
that is started is often the least of it: gcc's driver starts `cc1` and the assembler, clang's is a
few kilobytes over `libLLVM` and `libclang-cpp`.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from kernsmith import paths, process
from kernsmith.files import write_text
from kernsmith.kernel.tree import folder_digest

CLANG = "clang"
GCC = "gcc"

_SECONDS = 60.0
# What gcc's driver starts (GCC Internals, "Collect2"; `gcc -print-prog-name=`).
_GCC_STARTS = ("cc1", "as", "ld", "collect2")
# `ldd`: `libLLVM.so.22.1 => /usr/lib/libLLVM.so.22.1 (0x00007f…)`
_LIBRARY = re.compile(r"=> (/.+) \(0x[0-9a-f]+\)$", re.MULTILINE)
# The system's own libraries lie in such a folder. They are of many packages, and count only when
# they are what LLVM, gcc (its prerequisites) and binutils have split off.
_OF_SYSTEM = re.compile(r"(?:/usr)?/lib(?:32|64|x32)?(?:/[^/]+-linux-[^/]+)?")
_SPLIT_OFF = re.compile(
    r"lib(?:LLVM|LTO|MLIR|Polly|clang|lld|bfd|opcodes|ctf|sframe|isl|mpc|mpfr|gmp)[^a-z/][^/]*"
)


@cache
def compiler_content(program: str, family: str) -> str:
    """Digest of a compiler: the driver, what it starts, and the libraries that hold them.

    program: a name on PATH, or a path; a script is followed to what it starts as far as the
    compiler itself tells (`-###`, `-print-prog-name=`).

    Raises:
        ProcessFailed: it does not answer.
    """
    starts = _clang_starts if family == CLANG else _gcc_starts
    return _digest([program, *starts(program)])


@cache
def linker_content(program: str) -> str:
    """Digest of a linker and the libraries that hold it."""
    return _digest([program])


def content_of(programs: Sequence[str], libraries: Sequence[Path]) -> str:
    """Digest of programs with the libraries that hold them, and of libraries that they load."""
    return _digest(programs, libraries)


def tree_content(folder: Path) -> str:
    """Digest of all files of a folder; those that have not changed since are not read again."""
    name = hashlib.sha256(str(folder).encode()).hexdigest()
    paths.digests().mkdir(parents=True, exist_ok=True)
    return folder_digest(folder, paths.digests() / f"{name}.tree")


def needed_libraries(library: Path) -> list[str]:
    """The names of the libraries that an ELF file asks for (DT_NEEDED).

    Raises:
        ProcessFailed: the file is none that readelf reads.
    """
    said = process.run(["readelf", "--dynamic", "--wide", library], timeout=_SECONDS).output
    return re.findall(r"\(NEEDED\) .*\[(.+)\]$", said, re.MULTILINE)


def content_digest(file: Path) -> str:
    """SHA-256 of a file's content in hexadecimal, read again only after the file has changed.

    The digest is kept in the cache under the file's path, size, inode and times.
    """
    stat = file.stat()
    facts = (file, stat.st_size, stat.st_ino, stat.st_mtime_ns, stat.st_ctime_ns)
    name = hashlib.sha256("\0".join(map(str, facts)).encode()).hexdigest()
    kept = paths.digests() / name
    try:
        return kept.read_text(encoding="ascii")
    except OSError:
        pass
    with file.open("rb") as opened:
        digest = hashlib.file_digest(opened, "sha256").hexdigest()
    kept.parent.mkdir(parents=True, exist_ok=True)
    write_text(kept, digest, encoding="ascii")
    return digest


def _digest(programs: Sequence[str], libraries: Sequence[Path] = ()) -> str:
    files = {file for program in programs for file in _files(program)}
    files |= {path.resolve() for path in libraries}
    contents = sorted({content_digest(file) for file in files})
    return hashlib.sha256("\n".join(contents).encode()).hexdigest()


def _files(program: str) -> Iterator[Path]:
    """A program's file, and the libraries that hold it."""
    found = shutil.which(program)
    if found is None:
        return
    file = Path(found).resolve()
    yield file
    with file.open("rb") as opened:
        begin = opened.read(4)
    if begin == b"\x7fELF":
        yield from _libraries(file)
    # In a private root a script takes a program's place.
    aside = file.with_name(f"{file.name}.elf")
    if begin.startswith(b"#!") and aside.exists():
        yield aside


def _libraries(file: Path) -> Iterator[Path]:
    said = process.run(["ldd", file], timeout=_SECONDS, check=False).output
    for found in _LIBRARY.findall(said):
        library = Path(os.path.normpath(found))
        of_system = _OF_SYSTEM.fullmatch(str(library.parent))
        if not of_system or _SPLIT_OFF.fullmatch(library.name):
            yield library.resolve()


def _clang_starts(program: str) -> list[str]:
    """The program behind `-cc1`: itself, unless a script stands before it."""
    words = [program, "-###", "-x", "c", "-c", "/dev/null", "-o", "/dev/null"]
    said = process.run(words, timeout=_SECONDS).output
    return re.findall(r'^ "([^"]+)" ', said, re.MULTILINE)


def _gcc_starts(program: str) -> list[str]:
    asked = ([program, f"-print-prog-name={name}"] for name in _GCC_STARTS)
    return [process.run(words, timeout=_SECONDS).output.strip() for words in asked]
