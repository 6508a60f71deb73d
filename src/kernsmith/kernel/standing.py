# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether a kernel still has what it was built from: relinks, packages and rebuilds need that.

A kernel is filed under the content of its source and its toolchain, wherever these lie. The one
that is there may come from another folder than the one that is asked for now, which a user may
have changed or removed since.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from kernsmith import paths
from kernsmith.errors import DiskFull, UserError
from kernsmith.files import use
from kernsmith.kernel.artifact import Kernel, load_kernel
from kernsmith.kernel.source import Source, resolve_source


def standing_kernel(folder: Path, source: Source) -> Kernel | None:
    """The kernel in a folder; None when it is absent, unfinished, or has lost source or programs.

    source: the one that is asked for, of the same content.
    """
    kernel = load_kernel(folder)
    if not (kernel and _has_source(kernel, source) and _has_programs(kernel)):
        return None
    use(folder)
    if kernel.tree.is_relative_to(paths.sources()):
        use(kernel.tree.parent)
    return kernel


def clear_for(folder: Path, source: Source) -> None:
    """Remove a build that has lost its source, was begun from another folder than this one, or was
    finished and is damaged: nobody knows what else of it is.

    Layouts, traces and profiles stay: they are of the kernel that comes out again.
    """
    link = folder / "out/source"  # kbuild's
    elsewhere = link.is_symlink() and link.readlink() != source.path
    if not elsewhere and not (folder / "provenance.json").exists():
        return  # it goes on
    (folder / "provenance.json").unlink(missing_ok=True)
    for log in folder.glob("*.log"):
        log.unlink()
    shutil.rmtree(folder / "out", ignore_errors=True)


def _has_source(kernel: Kernel, source: Source) -> bool:
    """Only a folder of the user's can change, and hashing it takes a second."""
    path = kernel.tree
    if path == source.path:
        return True
    if path.is_relative_to(paths.sources()):
        return (path / "Makefile").exists()
    try:
        found = resolve_source(str(path), paths.sources())
    except DiskFull:
        raise
    except UserError:
        return False
    return (found.path, found.digest) == (path, source.digest)


def _has_programs(kernel: Kernel) -> bool:
    named = [Path(kernel.provenance["variant"][name]) for name in ("compiler", "linker")]
    return all(program.exists() for program in named if program.is_absolute())
