# SPDX-License-Identifier: GPL-2.0-or-later
"""What a kernel was made of and by, in its folder, and whether its images are still those.

It is written last: with it a kernel is complete. The sizes of the images stand in it, so that one
that was cut short later, or never reached the disk, is made anew and not taken for what was built.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from kernsmith.files import to_disk, write_text

FILE = "provenance.json"
PROVENANCE_VERSION = 1
VMLINUX, SYSTEM_MAP = "vmlinux", "System.map"
SIZES_FILE = "sizes.json"
"""In the folder of a layout, which has no provenance of its own."""
_SIZES = "sizes"
_NAMED = {"variant": ("name", "compiler", "linker"), "source": ("name", "digest")}


def write_provenance(folder: Path, provenance: Mapping[str, Any], *images: str) -> dict[str, Any]:
    """Complete a kernel: bring its images to the disk and write what they were made of, with their
    sizes in bytes, which is returned.

    images: names in the folder, beside `vmlinux` and `System.map`; those that are not there do not
        count. Raises DiskFull.
    """
    whole = dict(provenance) | {_SIZES: _sizes(folder, (VMLINUX, SYSTEM_MAP, *images))}
    write_text(folder / FILE, json.dumps(whole, indent=2, sort_keys=True) + "\n")
    return whole


def read_provenance(folder: Path) -> dict[str, Any] | None:
    """What was written; None where there is nothing, it is damaged, or the images are not those any
    more. Kernels of before have no sizes: their `vmlinux` must not be empty."""
    found = _read(folder / FILE)
    if not _is_complete(found) or not _has(folder, found.get(_SIZES, {})):
        return None
    return found


def note_sizes(folder: Path) -> None:
    """The same for a layout that was linked: bring it to the disk and note its sizes beside it, in
    `SIZES_FILE`. Raises DiskFull."""
    write_text(folder / SIZES_FILE, json.dumps(_sizes(folder, (VMLINUX, SYSTEM_MAP))) + "\n")


def is_whole_layout(folder: Path) -> bool:
    """Whether a layout is as it was linked, as far as its sizes tell."""
    return _has(folder, _read(folder / SIZES_FILE))


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _sizes(folder: Path, names: Iterable[str]) -> dict[str, int]:
    found = {}
    for name in dict.fromkeys(names):
        if (folder / name).exists():
            to_disk(folder / name)
            found[name] = (folder / name).stat().st_size
    return found


def _has(folder: Path, sizes: object) -> bool:
    try:
        if not isinstance(sizes, dict) or not (folder / VMLINUX).stat().st_size:
            return False
        return all((folder / name).stat().st_size == size for name, size in sizes.items())
    except OSError:
        return False


def _is_complete(found: Mapping[str, Any]) -> bool:
    """Whether all is there that every kernel is asked for."""
    command = found.get("command")
    return (
        found.get("version") == PROVENANCE_VERSION
        and isinstance(found.get("key"), str)
        and isinstance(found.get("build_id"), str)
        and isinstance(command, list)
        and "-C" in command[:-1]
        and all(isinstance(word, str) for word in command)
        and all(_has_words(found.get(name), words) for name, words in _NAMED.items())
    )


def _has_words(table: object, names: Iterable[str]) -> bool:
    return isinstance(table, dict) and all(isinstance(table.get(name), str) for name in names)
