# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether a source's linker script gathers functions that have sections of their own.

Layouts need `-ffunction-sections`. `TEXT_MAIN` of include/asm-generic/vmlinux.lds.h names the
sections that become the kernel's text; in older sources the functions' own ones are among them only
under some options. A function in a section that it does not name would be linked outside
`_stext` … `_etext`, where the kernel does not take it for its own code.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

SCRIPT = "include/asm-generic/vmlinux.lds.h"


def gathers_functions(tree: Path, options: Mapping[str, str]) -> bool:
    """Whether functions may have sections of their own in this tree, with these config symbols."""
    needed = needed_options(tree)
    return needed is not None and (not needed or any(_is_set(symbol, options) for symbol in needed))


def _is_set(symbol: str, options: Mapping[str, str]) -> bool:
    """Whether a symbol is set, or one that selects it: LTO_CLANG_THIN and _FULL do LTO_CLANG."""
    return any(
        value == "y" and (name == symbol or name.startswith(f"{symbol}_"))
        for name, value in options.items()
    )


@cache
def needed_options(tree: Path) -> tuple[str, ...] | None:
    """The config symbols of which one must be set; none of them if it is empty; None: never."""
    try:
        text = (tree / SCRIPT).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    conditions: list[str] = []
    for line in text.replace("\\\n", " ").splitlines():
        if match := re.match(r"#\s*if(?:def|ndef)?\b(.*)", line):
            conditions.append(match[1])
        elif re.match(r"#\s*(else|elif)\b", line):
            conditions[-1] = ""
        elif re.match(r"#\s*endif\b", line):
            conditions.pop()
        elif re.match(r"#\s*define\s+TEXT_MAIN\b.*\.text\.\[", line):
            return tuple(re.findall(r"CONFIG_(\w+)", " ".join(conditions)))
    return None
