# SPDX-License-Identifier: GPL-2.0-or-later
"""The patch that older trees need: their linker script is to gather functions in sections of their
own, and to keep cold, hot and split-off code apart.

Before `TEXT_MAIN` of include/asm-generic/vmlinux.lds.h named such sections always, it did so under
some options, and then took in cold code (`.text.unlikely`) that other lines were to place. The
patch names them always, puts the lines of cold code in front of `TEXT_MAIN` (the first line that
fits decides), and adds one for what `-fsplit-machine-functions` splits off. That is what Linux has
itself since. Tables that are not loaded, like Propeller's map of blocks, get a section on request.

The tree stays as it is: kbuild finds the patched header first, in its output, where generated
headers lie (`LINUXINCLUDE` of the top Makefile).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import unified_diff
from functools import cache
from pathlib import Path

from kernsmith.arch import Arch
from kernsmith.files import write_bytes
from kernsmith.kernel.sections import SCRIPT, gathers_functions, needed_options

_PLAIN = re.compile(r"^(\s*#\s*define\s+TEXT_MAIN\s+\.text)[ \t]*$", re.MULTILINE)
_SECTIONS = ".text.[0-9a-zA-Z_]*"
_COLD = re.compile(r"\s*\*\(\.text\.(?:unlikely|unknown)\b")
_HOT = re.compile(r"\s*\*\(\.text\.hot\b")
_TABLES = re.compile(r"^#define ELF_DETAILS\b.*\\\n", re.MULTILINE)
_SPLIT = "\t\t*(.text.split .text.split.*)\t\t\t\t\\\n"


@dataclass(frozen=True)
class ScriptPatch:
    """text: the whole header as it is to be. diff: what changes, for people and `patch -p1`."""

    text: str
    diff: str


def script_patch(
    tree: Path, options: Mapping[str, str], tables: tuple[str, ...] = ()
) -> ScriptPatch | None:
    """What must be changed for functions to have sections of their own in this tree, with these
    config symbols; None where nothing must, or this program does not know how.

    tables: names of sections that are to be kept, too, and not loaded.
    """
    if not needed_options(tree):
        return None
    return _patch(tree, gathers_functions(tree, options), tables)


@cache
def _patch(tree: Path, gathers: bool, tables: tuple[str, ...]) -> ScriptPatch | None:
    """gathers: the tree's own script names functions' sections already."""
    old = (tree / SCRIPT).read_text(encoding="utf-8", errors="surrogateescape")
    new = _in_order(old)
    if new is not None and not gathers:
        new, changed = _PLAIN.subn(rf"\1 {_SECTIONS}", new)
        new = new if changed else None
    if new is not None and tables:
        kept = "".join(f"\t\t{name} 0 : {{ *({name}) }}\t\\\n" for name in tables)
        new, changed = _TABLES.subn(lambda found: found[0] + kept, new)
        new = new if changed else None
    if new is None or new == old:
        return None
    before, after = (text.splitlines(keepends=True) for text in (old, new))
    diff = unified_diff(before, after, f"a/{SCRIPT}", f"b/{SCRIPT}")
    return ScriptPatch(new, "".join(diff))


def place_patched(patch: ScriptPatch, output: Path, arch: Arch) -> None:
    """Put the patched header where kbuild, with this output folder, looks before the tree."""
    place = output / "arch" / arch.srctree / "include/generated" / SCRIPT.removeprefix("include/")
    content = patch.text.encode("utf-8", errors="surrogateescape")
    if not place.exists() or place.read_bytes() != content:
        write_bytes(place, content)


def _in_order(text: str) -> str | None:
    """The script with cold and split-off code in front of `TEXT_MAIN`; None where `TEXT_TEXT` is
    not as this program knows it."""
    lines = text.splitlines(keepends=True)
    first = next((n for n, line in enumerate(lines) if re.match(r"#define TEXT_TEXT\b", line)), -1)
    if first < 0:
        return None
    end = next(n for n in range(first, len(lines)) if not lines[n].rstrip("\n").endswith("\\"))
    body = lines[first : end + 1]
    main = next((n for n, line in enumerate(body) if "TEXT_MAIN" in line), 0)
    cold = [line for line in body[main:] if _COLD.match(line)]
    if not main or body[-1] in cold:
        return None
    if not any("split" in line or "SPLIT" in line for line in body):
        cold.insert(0, _SPLIT)
    at = next((n for n, line in enumerate(body[:main]) if _HOT.match(line)), main)
    kept = [line for line in body[at:] if line not in cold]
    return "".join([*lines[:first], *body[:at], *cold, *kept, *lines[end + 1 :]])
