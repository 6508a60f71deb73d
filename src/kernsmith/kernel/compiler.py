# SPDX-License-Identifier: GPL-2.0-or-later
"""The compiler as kbuild calls it: through ccache, and no question to it is asked twice.

kbuild gets `KERNEL/compiler clang-22` for `clang-22`, where `KERNEL/compiler` is a link to a small
program (`native/compiler`). That writes all paths of the source as `../source/…`, so that
revisions of one source share ccache's objects, and remembers what the compiler answered to
the hundreds of probes with which every kernel is configured.
"""

from __future__ import annotations

from pathlib import Path

from kernsmith import paths
from kernsmith.errors import UserError

_NAME = "compiler"
_LINK = "source"


def through_cache(folder: Path, compiler: str) -> str:
    """What kbuild gets as its compiler for the kernel in a folder."""
    return f"{folder / _NAME} {compiler}"


def without_cache(compiler: str) -> str:
    """The compiler alone."""
    first, _, rest = compiler.partition(" ")
    return rest if rest and Path(first).name in (_NAME, "ccache") else compiler


def write_compiler(folder: Path, tree: Path) -> None:
    """Put the links to the program and to the source beside kbuild's output in a kernel's folder.

    Raises:
        UserError: the program is not built.
    """
    program = paths.shipped("target/release/kernsmith-compiler")
    if not program.exists():
        raise UserError(f"{program.name} is not built yet: run make setup")
    for name, target in ((_NAME, program), (_LINK, tree)):
        link = folder / name
        link.unlink(missing_ok=True)
        link.symlink_to(target)
