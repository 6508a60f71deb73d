# SPDX-License-Identifier: GPL-2.0-or-later
"""Paths in the ledger's rows: relative to kernsmith's folders, so that they mean the same anywhere.

A file is named by its key, the path from the cache's root (`runs/…/console.log`). In texts and
command lines the folders are written as variables. Who reads a row gets this host's paths; what
an earlier version has written as an absolute path stays one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kernsmith import paths

_CACHE = "$KERNSMITH_CACHE"
_SHIPPED = "$KERNSMITH"


def key_of(file: str) -> str:
    """A file's key, if it is in the cache; anything else stays as it is."""
    root = paths.cache_root()
    return Path(file).relative_to(root).as_posix() if file and _inside(file, root) else file


def file_of(key: str) -> str:
    """The file that a key names on this host."""
    return str(paths.cache_root() / key) if key else ""


def portable(value: Any) -> Any:
    """A text, or texts in lists and mappings, without this host's folders."""
    return _replaced(value, [(f"{folder}/", f"{name}/") for name, folder in _folders()])


def local(value: Any) -> Any:
    """The inverse of `portable` on this host."""
    return _replaced(value, [(f"{name}/", f"{folder}/") for name, folder in _folders()])


def _inside(file: str, root: Path) -> bool:
    return Path(file).is_absolute() and Path(file).is_relative_to(root)


def _folders() -> list[tuple[str, Path]]:
    """The longer path first: one may lie in the other."""
    both = [(_CACHE, paths.cache_root()), (_SHIPPED, paths.shipped())]
    return sorted(both, key=lambda pair: -len(str(pair[1])))


def _replaced(value: Any, pairs: list[tuple[str, str]]) -> Any:
    if isinstance(value, str):
        for old, new in pairs:
            value = value.replace(old, new)
        return value
    if isinstance(value, dict):
        return {name: _replaced(each, pairs) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_replaced(each, pairs) for each in value)
    return value
