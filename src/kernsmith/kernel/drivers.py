# SPDX-License-Identifier: GPL-2.0-or-later
"""Which config symbols bring which drivers, as a source's own Makefiles say it."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

# Documentation/kbuild/makefiles.rst, 3.2: the goal definitions.
_GOAL = re.compile(r"^obj-\$\(CONFIG_(\w+)\)\s*[+:]?=\s*(.*)$", re.MULTILINE)
_CONTINUED = re.compile(r"\\\n\s*")
_FOLDERS = ("block", "drivers", "fs", "net")


@dataclass(frozen=True)
class Needed:
    """What a machine is driven by. what: in words, `its root disk`. modules: their names, or those
    of drivers that are in its own kernel."""

    what: str
    modules: tuple[str, ...]


def symbols_of(source: Path, modules: Collection[str]) -> dict[str, tuple[str, ...]]:
    """The config symbols of modules, any of which brings it; those that no Makefile names have
    none. Names are compared with `_` for `-`, as the kernel compares them."""
    known = _goals(source)
    return {name: known.get(name.replace("-", "_"), ()) for name in modules}


def missing_drivers(
    source: Path, symbols: Mapping[str, str], needed: Iterable[Needed]
) -> tuple[tuple[str, str, str], ...]:
    """What a config would leave without its driver: in words, the module, and a symbol to set."""
    found = []
    for each in needed:
        for name, asked in symbols_of(source, each.modules).items():
            if asked and not any(symbols.get(symbol) in ("y", "m") for symbol in asked):
                found.append((each.what, name, asked[0]))
    return tuple(found)


@lru_cache(maxsize=4)
def _goals(source: Path) -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for folder in _FOLDERS:
        for place, _, files in os.walk(source / folder):
            for name in files:
                if name in ("Makefile", "Kbuild"):
                    text = (Path(place) / name).read_text(encoding="utf-8", errors="replace")
                    for symbol, goals in _GOAL.findall(_CONTINUED.sub(" ", text)):
                        for goal in goals.split():
                            if goal.endswith(".o"):
                                module = goal[:-2].replace("-", "_")
                                found.setdefault(module, {})[symbol] = None
    return {module: tuple(symbols) for module, symbols in found.items()}
