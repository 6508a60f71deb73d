# SPDX-License-Identifier: GPL-2.0-or-later
"""What a folder of kernel source is: its version, and a digest of all that is in it."""

import hashlib
import json
import os
import re
import stat
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

from kernsmith.errors import ProcessFailed, ProgramMissing, UserError
from kernsmith.files import write_text
from kernsmith.kernel.git import clean_tree

# A file written in the same tick of the clock as it was hashed may change without a trace.
_RACY_SECONDS = 2.0

# What says that a file is unchanged: mtime and ctime in ns, size, inode.
_Stamp = tuple[int, int, int, int]


def kernel_version(tree: Path) -> str:
    """The version as ``make kernelversion`` prints it, from the variables of the top Makefile.

    Raises UserError when ``tree`` is not a kernel source.
    """
    try:
        if (tree / "Makefile").exists() and not (tree / "Makefile").is_file():
            raise FileNotFoundError
        with (tree / "Makefile").open(encoding="utf-8", errors="replace") as file:
            head = file.read(4096)
    except (FileNotFoundError, NotADirectoryError):
        raise UserError(f"{tree} is not a kernel source: it has no Makefile") from None
    values: dict[str, str] = dict(
        re.findall(r"^(\w+)[ \t]*=[ \t]*(.*?)[ \t]*$", head, re.MULTILINE)
    )
    if not values.get("VERSION") or not (tree / "Kconfig").exists():
        raise UserError(
            f"{tree} is not a kernel source: it has no Kconfig, or its Makefile sets no VERSION"
        )
    numbers = [values.get(name, "") for name in ("VERSION", "PATCHLEVEL", "SUBLEVEL")]
    return ".".join(number for number in numbers if number) + values.get("EXTRAVERSION", "")


def folder_digest(tree: Path, index: Path) -> str:
    """A digest that changes with any file of ``tree``.

    The tree id of HEAD (``git-tree:…``) when the folder is the top of a git work tree without
    changes; else a digest over path, kind, permission to execute, and content of every file
    (``files:…``). ``index`` keeps the digests of files that have not changed since the last time.
    """
    return clean_git_tree(tree) or _content_digest(tree, index)


def built_in_place(tree: Path) -> str | None:
    """What make has left in a tree, for which kbuild refuses to build it elsewhere; None: nothing.

    As the target outputmakefile of Linux's top Makefile has it, for any architecture.
    """
    if (tree / ".config").is_file():
        return ".config"
    folders = (tree / "include/config", *tree.glob("arch/*/include/generated"))
    return next((str(each.relative_to(tree)) for each in folders if each.is_dir()), None)


def clean_git_tree(tree: Path) -> str | None:
    """``git-tree:`` of HEAD when the folder is the top of a git work tree without changes."""
    if not (tree / ".git").exists():
        return None
    try:
        with TemporaryDirectory(prefix="kernsmith-git-") as private:
            tree_id = clean_tree(tree, Path(private) / "git")
    except (ProcessFailed, ProgramMissing):
        return None  # no git, no commit yet, or another user's folder: the files decide
    return f"git-tree:{tree_id}" if tree_id else None


def _content_digest(tree: Path, index: Path) -> str:
    known = _read_index(index)
    now = time.time_ns()
    stamps: dict[str, _Stamp] = {}
    modes: dict[str, int] = {}
    for path, status in _files(str(tree), ""):
        stamps[path] = (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)
        modes[path] = status.st_mode
    digests: dict[str, str] = {}
    for path, stamp in stamps.items():
        old = known.get(path)
        if old is not None and tuple(old[0]) == stamp:
            digests[path] = old[1]
    new = [path for path in stamps if path not in digests]
    with ThreadPoolExecutor() as pool:
        digests.update(
            zip(
                new, pool.map(lambda path: _file_digest(tree / path, modes[path]), new), strict=True
            )
        )
    if new or len(known) != len(stamps):
        limit = now - int(_RACY_SECONDS * 1e9)
        settled = {
            path: (stamp, digests[path])
            for path, stamp in stamps.items()
            if max(stamp[0], stamp[1]) < limit
        }
        _write_index(index, settled)
    total = hashlib.sha256()
    for path in sorted(stamps):
        total.update(
            f"{_kind(modes[path])} {digests[path]} {path}\0".encode(errors="surrogateescape")
        )
    return f"files:{total.hexdigest()}"


def _files(folder: str, prefix: str) -> Iterator[tuple[str, os.stat_result]]:
    """All files and links under ``folder`` but git's own, with paths relative to it."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if entry.name != ".git":
                    yield from _files(entry.path, f"{prefix}{entry.name}/")
            elif prefix or entry.name != ".git":
                status = entry.stat(follow_symlinks=False)
                if stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode):
                    yield prefix + entry.name, status


def _kind(mode: int) -> str:
    if stat.S_ISLNK(mode):
        return "l"
    return "x" if mode & 0o111 else "f"


def _file_digest(path: Path, mode: int) -> str:
    if stat.S_ISLNK(mode):
        return hashlib.sha256(os.fsencode(path.readlink())).hexdigest()
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except PermissionError:
        raise UserError(f"{path} cannot be read; the source must be readable") from None


def _read_index(index: Path) -> dict[str, tuple[list[int], str]]:
    try:
        loaded: dict[str, tuple[list[int], str]] = json.loads(index.read_bytes())
    except (OSError, ValueError):
        return {}
    return loaded


def _write_index(index: Path, entries: dict[str, tuple[_Stamp, str]]) -> None:
    write_text(index, json.dumps(entries, separators=(",", ":")))
