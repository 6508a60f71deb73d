# SPDX-License-Identifier: GPL-2.0-or-later
"""`[[objects]]`, `[[links]]` and `[delegate]` of a study file: TOML in, rules out; and back."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import partial

from pydantic import BaseModel, ConfigDict, Field

from kernsmith.study.links import MODULES, RELOCATABLE, LinkRule
from kernsmith.study.objects import Assembler, ObjectRule


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class DelegateTable(_Table):
    """[delegate]: what holds for all of [[objects]], and of all links."""

    assembler: Assembler = ""
    """gnu or clang: what assembles those that have steps; default: the compiler's own."""
    fallback: str = ""
    """The compiler of what the compilers of [[objects]] cannot compile."""
    linker: str = ""
    """What links modules, and several objects as one, in place of what links vmlinux: lld, lld-22
    and the like, or bfd."""


class ObjectsTable(_Table):
    """[[objects]]: objects that are compiled in another way than the others."""

    match: list[str] = Field(min_length=1)
    """Patterns of objects: fs/*.o; ** is any folder."""
    name: str = ""
    """By which levels of the factor `objects` choose it; without one it holds in all variants."""
    compiler: str = ""
    """The name of another compiler's program."""
    fallback: str = ""
    """The compiler of what that one cannot compile; default: what [delegate] says."""
    flags: list[str] = Field(default_factory=list)
    """Stand behind all others."""
    steps: list[str] = Field(default_factory=list)
    """Shipped steps on the assembly."""
    assembler: Assembler = ""
    """gnu or clang; default: what [delegate] says."""


class LinksTable(_Table):
    """[[links]]: links that are done in another way than the others."""

    match: list[str] = Field(min_length=1)
    """Which: vmlinux, modules, relocatable (-r), others."""
    name: str = ""
    """By which levels of the factor `links` choose it; without one it holds in all variants."""
    linker: str = ""
    """Another linker: lld, lld-22 and the like, or bfd. Not for vmlinux."""
    steps: list[str] = Field(default_factory=list)
    """Shipped steps on the order of objects and the linker script of vmlinux."""


def rules_in(tables: Iterable[ObjectsTable], every: DelegateTable) -> tuple[ObjectRule, ...]:
    """The rules for objects of a file, with what it says of all."""
    return tuple(_rule_of(table, every) for table in tables)


def _rule_of(table: ObjectsTable, every: DelegateTable) -> ObjectRule:
    return ObjectRule(
        match=tuple(table.match),
        compiler=table.compiler,
        flags=tuple(word for flags in table.flags for word in flags.split()),
        steps=tuple(table.steps),
        assembler=table.assembler or (every.assembler if table.steps else ""),
        name=table.name,
        fallback=table.fallback or (every.fallback if table.compiler else ""),
    )


def links_in(tables: Iterable[LinksTable], every: DelegateTable) -> tuple[LinkRule, ...]:
    """The rules for links of a file."""
    rules = [LinkRule((MODULES, RELOCATABLE), every.linker)] if every.linker else []
    rules += [
        LinkRule(tuple(table.match), table.linker, tuple(table.steps), table.name)
        for table in tables
    ]
    return tuple(rules)


def rule_lines(objects: Iterable[ObjectRule], links: Iterable[LinkRule]) -> list[str]:
    """Rules as lines of a study file."""
    return [*_object_lines(objects), *_link_lines(links)]


def _link_lines(rules: Iterable[LinkRule]) -> list[str]:
    quote = partial(json.dumps, ensure_ascii=False)
    lines: list[str] = []
    for rule in rules:
        lines += ["", "[[links]]", f"match = {quote(list(rule.match))}"]
        for key, word in (("name", rule.name), ("linker", rule.linker)):
            lines += [f"{key} = {quote(word)}"] if word else []
        lines += [f"steps = {quote(list(rule.steps))}"] if rule.steps else []
    return lines


def _object_lines(rules: Iterable[ObjectRule]) -> list[str]:
    quote = partial(json.dumps, ensure_ascii=False)
    lines: list[str] = []
    for rule in rules:
        lines += ["", "[[objects]]", f"match = {quote(list(rule.match))}"]
        named = (("name", rule.name), ("compiler", rule.compiler), ("fallback", rule.fallback))
        for key, word in named:
            lines += [f"{key} = {quote(word)}"] if word else []
        for key, words in (("flags", rule.flags), ("steps", rule.steps)):
            lines += [f"{key} = {quote(list(words))}"] if words else []
        lines += [f"assembler = {quote(rule.assembler)}"] if rule.assembler else []
    return lines
