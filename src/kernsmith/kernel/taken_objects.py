# SPDX-License-Identifier: GPL-2.0-or-later
"""Which compiler took which object, where rules name others than kbuild's, and why not the first;
and which linker made which file, where rules name others.

kbuild's compiler (native/compiler/src/ways.rs) adds a line for each such object: its name, the
program, and what the rule's own compiler said where its fallback took the object. Its linker
(links.rs) adds the name of each file that another one has linked, and the program.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernsmith.errors import UserError

SUFFIX = ".taken"
LINKED_SUFFIX = ".linked"
# Where something was said: reasons are counted without that.
_PLACE = re.compile(r"^.*?[^ ]*:\d+(:\d+)?: ")
_MORE = re.compile(r"\s+")


@dataclass(frozen=True)
class Taken:
    """An object. reason: why the fallback took it; empty where the rule's own compiler did."""

    object: str
    program: str
    reason: str = ""


def read_taken(rules: Path) -> tuple[Taken, ...]:
    """Of each object what was said last, sorted by name; none where nothing was compiled so.

    rules: the file of the rules.

    Raises:
        UserError: a line that is none of these.
    """
    lines = _fields_of(rules.with_suffix(SUFFIX), 3)
    return tuple(Taken(*fields) for _, fields in sorted(lines.items()))


def read_linked(rules: Path) -> dict[str, str]:
    """The linker of each file that another one than kbuild's has linked, by the file's name.

    rules: the file of the rules for links.

    Raises:
        UserError: a line that is none of these.
    """
    lines = _fields_of(rules.with_suffix(LINKED_SUFFIX), 2)
    return {name: linker for name, (_, linker) in sorted(lines.items())}


def _fields_of(path: Path, count: int) -> dict[str, list[str]]:
    """The last line about each name; none without the file."""
    if not path.exists():
        return {}
    found: dict[str, list[str]] = {}
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        fields = line.split("\t")
        if len(fields) != count:
            raise UserError(f"{path} has a line that is none of its own: {line[:60]!r}")
        found[fields[0]] = fields
    return found


def by_program(taken: Sequence[Taken]) -> Mapping[str, int]:
    """How many objects each compiler took; the most first."""
    return dict(Counter(each.program for each in taken).most_common())


def by_reason(taken: Sequence[Taken]) -> Mapping[str, list[str]]:
    """The objects that a fallback took, by the reason without its place; the most first."""
    found: dict[str, list[str]] = {}
    for each in taken:
        if each.reason:
            reason = _MORE.sub(" ", _PLACE.sub("", each.reason)).strip()
            found.setdefault(reason, []).append(each.object)
    return dict(sorted(found.items(), key=lambda item: (-len(item[1]), item[0])))
