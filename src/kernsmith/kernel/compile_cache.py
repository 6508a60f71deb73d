# SPDX-License-Identifier: GPL-2.0-or-later
"""What was compiled or asked once is kept: ccache, and the compilers' answers to probes."""

from __future__ import annotations

import re
from pathlib import Path

from kernsmith import paths

# Counters of ccache's statistics log, one a line for each call (src/ccache/core/Statistics.cpp).
_COMPILED = re.compile(r"^cache_miss$", re.MULTILINE)
_FOUND = re.compile(r"^(?:direct|preprocessed)_cache_hit$", re.MULTILINE)


def cache_environment(*, alone: bool = False) -> dict[str, str | None]:
    """Where kbuild's compiler (`native/compiler`) keeps what was compiled, and asked.

    Both are in folders of kernsmith's own, shared by all kernels wherever they lie.

    alone: no other kernel is expected to be compiled with the same flags. Then the files that an
        object was made from are its key (ccache's "depend mode"), and not the preprocessor's
        output, which costs a fifth of the time of a compilation. An object that does not depend on
        a changed config symbol is found by the preprocessor's output only: kbuild gives all of them
        every symbol.
    """
    return {
        "CCACHE_DEPEND": "1" if alone else None,
        "CCACHE_NODEPEND": None if alone else "1",
        "CCACHE_DIR": str(paths.ccache()),
        "CCACHE_NOHASHDIR": "1",
        "CCACHE_COMPILERCHECK": "content",
        "CCACHE_MAXSIZE": "20G",
        "KERNSMITH_PROBES": str(paths.probes()),
    }


def compiled_and_found(log: Path) -> tuple[int, int] | None:
    """Objects that were compiled, and those that the cache had; None without a statistics log."""
    try:
        text = log.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return len(_COMPILED.findall(text)), len(_FOUND.findall(text))
