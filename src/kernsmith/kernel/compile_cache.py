# SPDX-License-Identifier: GPL-2.0-or-later
"""What was compiled or asked once is kept: ccache, and the compilers' answers to probes.

kbuild gets `KERNEL/compiler clang-22` for `clang-22`, where `KERNEL/compiler` is a link to a small
program (`native/compiler`). That writes all paths of the source as `../source/…`, so that
revisions of one source share ccache's objects, and remembers what the compiler answered to
the hundreds of probes with which every kernel is configured.
"""

from __future__ import annotations

import re
from pathlib import Path

from kernsmith import paths
from kernsmith.errors import UserError

_NAME = "compiler"
_LINK = "source"

# Counters of ccache's statistics log, one a line for each call (src/ccache/core/Statistics.cpp).
_COMPILED = re.compile(r"^cache_miss$", re.MULTILINE)
_FOUND = re.compile(r"^(?:direct|preprocessed)_cache_hit$", re.MULTILINE)


def cache_environment(compilers: str, *, alone: bool = False) -> dict[str, str | None]:
    """Where kbuild's compiler (`native/compiler`) keeps what was compiled, and asked.

    Both are in folders of kernsmith's own, shared by all kernels wherever they lie.

    compilers: digest of the compilers' content (`Toolchain.compilers`). Objects and answers of
        others are not found. (ccache itself would look at the driver alone, which may be the same
        over another libLLVM or cc1.)
    alone: no object is expected to be compiled with the same flags under another config. Then the
        files that an object was made from are its key (ccache's "depend mode"), and not the
        preprocessor's output, which costs a fifth of the time of a compilation. An object that does
        not depend on a changed config symbol is found by the preprocessor's output only: kbuild
        gives all of them every symbol.
    """
    return {
        "CCACHE_DEPEND": "1" if alone else None,
        "CCACHE_NODEPEND": None if alone else "1",
        "CCACHE_DIR": str(paths.ccache()),
        "CCACHE_NOHASHDIR": "1",
        "CCACHE_COMPILERCHECK": f"string:{compilers}",
        "CCACHE_MAXSIZE": "20G",
        "KERNSMITH_PROBES": str(paths.probes() / compilers[:20]),
    }


def compiled_and_found(log: Path) -> tuple[int, int] | None:
    """Objects that were compiled, and those that the cache had; None without a statistics log."""
    try:
        text = log.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return len(_COMPILED.findall(text)), len(_FOUND.findall(text))


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
