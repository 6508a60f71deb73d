# SPDX-License-Identifier: GPL-2.0-or-later
"""What rules did: which compiler took which object, where they name others than kbuild's, and why
not the first; which of their patterns no object fits; which linker made which file.

kbuild's compiler and linker (native/compiler/src/notes.rs) write it down beside the rules. Where
several makes use the same ones, each line has the folder of its make.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernsmith.errors import UserError
from kernsmith.kernel.object_rules import patterns_of

SUFFIX = ".taken"
LINKED_SUFFIX = ".linked"
MATCHED_SUFFIX = ".matched"
_FIELDS = {SUFFIX: 3, LINKED_SUFFIX: 2, MATCHED_SUFFIX: 1}
# Where something was said: reasons are counted without that.
_PLACE = re.compile(r"^.*?[^ ]*:\d+(:\d+)?: ")
_MORE = re.compile(r"\s+")


@dataclass(frozen=True)
class Taken:
    """An object. reason: why the fallback took it; empty where the rule's own compiler did."""

    object: str
    program: str
    reason: str = ""


def read_taken(rules: Path, tree: str = "") -> tuple[Taken, ...]:
    """Of each object what was said last, sorted by name; none where nothing was compiled so.

    rules: the file of the rules. tree: the folder of a make; empty: of all that used the rules.

    Raises:
        UserError: a line that is none of these.
    """
    found = {fields[0]: Taken(*fields) for fields in _lines(rules, SUFFIX, tree)}
    return tuple(taken for _, taken in sorted(found.items()))


def read_linked(rules: Path, tree: str = "") -> dict[str, str]:
    """The linker of each file that another one than kbuild's has linked, by the file's name.

    rules: the file of the rules for links. tree: as of `read_taken`.

    Raises:
        UserError: a line that is none of these.
    """
    found = dict(_lines(rules, LINKED_SUFFIX, tree))
    return dict(sorted(found.items()))


def unmatched(rules: Path, tree: str = "") -> list[str]:
    """Patterns of rules that no object that was compiled from C fits. tree: as of `read_taken`."""
    known = {pattern for (pattern,) in _lines(rules, MATCHED_SUFFIX, tree)}
    return [pattern for pattern in patterns_of(rules) if pattern not in known]


def trees_of(rules: Path) -> list[str]:
    """The folders of the makes that used rules, sorted; none of a kernel's own."""
    lines = ((suffix, fields) for suffix in _FIELDS for fields in _all_lines(rules, suffix))
    return sorted({fields[-1] for suffix, fields in lines if len(fields) > _FIELDS[suffix]})


def _lines(rules: Path, suffix: str, tree: str) -> list[list[str]]:
    """Those of one make, or of all, without its folder."""
    count = _FIELDS[suffix]
    lines = _all_lines(rules, suffix)
    return [fields[:count] for fields in lines if not tree or fields[count:] == [tree]]


def _all_lines(rules: Path, suffix: str) -> list[list[str]]:
    """None without the file."""
    path = rules.with_suffix(suffix)
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    found = [line.split("\t") for line in lines]
    for fields in found:
        if len(fields) - _FIELDS[suffix] not in (0, 1):
            line = "\t".join(fields)
            raise UserError(f"{path} has a line that is none of its own: {line[:60]!r}")
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
