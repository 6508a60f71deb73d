# SPDX-License-Identifier: GPL-2.0-or-later
"""What must be built in for a config symbol to be: modules that it depends on, too."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

# Menus that symbols are in, which no `depends on` of theirs names: of what workloads need.
_ABOVE = {
    "MTD_PHRAM": ("MTD",),
    "MTD_BLOCK_RO": ("MTD", "BLOCK"),
    "SQUASHFS": ("BLOCK", "MISC_FILESYSTEMS"),
    "EROFS_FS": ("BLOCK", "MISC_FILESYSTEMS"),
}
_CONFIG = re.compile(r"\s*(?:menu)?config\s+(\w+)\s*(?:#.*)?")
_DEPENDS = re.compile(r"\s+depends on\s+(.*)")
# What holds for all that follows, up to its end; in the first column, unlike texts for people.
_BLOCK = re.compile(r"(if|menu|choice)\b(.*)")
_END = re.compile(r"end(if|menu|choice)\b")
# A symbol of a dependency that is not negated and not compared with anything.
_POSITIVE = re.compile(r"(?<![!\w=])([A-Z0-9_]+)\b(?!\s*!?=)")


def built_in(symbols: Mapping[str, str], wanted: Iterable[str], tree: Path) -> dict[str, str]:
    """What must be set for all of some symbols to be built in: these, and modules that they depend
    on (a symbol cannot be `y` where one that it depends on is `m`); sorted.

    symbols: of a config; symbols and wanted without `CONFIG_`. tree: the source.
    """
    depends = _dependencies(tree)
    found: dict[str, str] = {}
    left = [name for name in wanted if symbols.get(name) != "y"]
    while left:
        name = left.pop()
        if name not in found:
            found[name] = "y"
            left += [each for each in _ABOVE.get(name, ()) if symbols.get(each) != "y"]
            left += [each for each in depends.get(name, ()) if symbols.get(each) == "m"]
    return dict(sorted(found.items()))


@cache
def _dependencies(tree: Path) -> dict[str, frozenset[str]]:
    """The symbols that others depend on, by `depends on` and `if` of the tree's Kconfig files."""
    found: dict[str, set[str]] = {}
    for path in tree.rglob("Kconfig*"):
        if path.is_file():
            text = path.read_text(encoding="utf-8", errors="replace").replace("\\\n", " ")
            _read(text, found)
    return {name: frozenset(needs) for name, needs in found.items()}


def _read(text: str, found: dict[str, set[str]]) -> None:
    """Add what a Kconfig file says (Documentation/kbuild/kconfig-language.rst)."""
    blocks: list[set[str]] = []
    current: set[str] = set()
    for line in text.splitlines():
        if entry := _CONFIG.fullmatch(line):
            current = found.setdefault(entry[1], set())
            current.update(*blocks)
        elif depends := _DEPENDS.match(line):
            current.update(_POSITIVE.findall(depends[1]))
        elif block := _BLOCK.match(line):
            current = set(_POSITIVE.findall(block[2])) if block[1] == "if" else set()
            blocks.append(current)
        elif _END.match(line) and blocks:
            blocks.pop()
