# SPDX-License-Identifier: GPL-2.0-or-later
"""`[[objects]]` and `[delegate]` of a study file: TOML in, rules out; and the way back."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import partial

from pydantic import BaseModel, ConfigDict, Field

from kernsmith.study.objects import Assembler, ObjectRule


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class DelegateTable(_Table):
    """[delegate]: what holds for all of [[objects]]."""

    assembler: Assembler = ""
    """gnu or clang: what assembles those that have steps; default: the compiler's own."""


class ObjectsTable(_Table):
    """[[objects]]: objects that are compiled in another way than the others."""

    match: list[str] = Field(min_length=1)
    """Patterns of objects: fs/*.o; ** is any folder."""
    name: str = ""
    """By which levels of the factor `objects` choose it; without one it holds in all variants."""
    compiler: str = ""
    """The name of another compiler's program."""
    flags: list[str] = Field(default_factory=list)
    """Stand behind all others."""
    steps: list[str] = Field(default_factory=list)
    """Shipped steps on the assembly."""
    assembler: Assembler = ""
    """gnu or clang; default: what [delegate] says."""


def rule_of(table: ObjectsTable, every: DelegateTable) -> ObjectRule:
    """A rule for objects, with what the file says of all."""
    return ObjectRule(
        match=tuple(table.match),
        compiler=table.compiler,
        flags=tuple(word for flags in table.flags for word in flags.split()),
        steps=tuple(table.steps),
        assembler=table.assembler or (every.assembler if table.steps else ""),
        name=table.name,
    )


def rule_lines(rules: Iterable[ObjectRule]) -> list[str]:
    """Rules as lines of a study file."""
    quote = partial(json.dumps, ensure_ascii=False)
    lines: list[str] = []
    for rule in rules:
        lines += ["", "[[objects]]", f"match = {quote(list(rule.match))}"]
        for key, word in (("name", rule.name), ("compiler", rule.compiler)):
            lines += [f"{key} = {quote(word)}"] if word else []
        for key, words in (("flags", rule.flags), ("steps", rule.steps)):
            lines += [f"{key} = {quote(list(words))}"] if words else []
        lines += [f"assembler = {quote(rule.assembler)}"] if rule.assembler else []
    return lines
