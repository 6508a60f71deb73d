# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules for objects as kbuild's compiler (`native/compiler/src/objects.rs`) reads them.

The file lies in a kernel's folder, or where somebody else's make is told (`KERNSMITH_OBJECTS`).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from kernsmith import paths
from kernsmith.arch import DEFAULT
from kernsmith.files import write_text
from kernsmith.kernel.toolchain import CLANG, find_toolchain
from kernsmith.kernel.toolchain.compiler import Compiler, default_compiler
from kernsmith.kernel.toolchain.other import OtherCompiler, find_other
from kernsmith.study.objects import ObjectRule, regex_of

FILE = "objects.rules"
_VARIABLE = "KERNSMITH_OBJECTS"
_OBJECT = re.compile(r"^  CC\s+(?:\[M\]\s+)?(\S+\.o)$", re.MULTILINE)


def write_rules(folder: Path, rules: Sequence[ObjectRule], compiler: Compiler, arch: str) -> None:
    """Put the rules of a kernel into its folder; without rules there is no file.

    compiler: of all other objects.
    """
    path = folder / FILE
    if rules:
        write_text(path, rules_text(rules, compiler, arch))
    else:
        path.unlink(missing_ok=True)


def place_rules(rules: Sequence[ObjectRule], compiler: str) -> tuple[str, Path]:
    """Keep rules for somebody else's make; returns the variable that is to name the file, and it.

    compiler: the program of all other objects.

    Raises:
        UserError: it is not installed.
    """
    text = rules_text(rules, find_toolchain(compiler).compiler, DEFAULT)
    path = paths.rules() / f"{hashlib.sha256(text.encode()).hexdigest()[:20]}.rules"
    write_text(path, text)
    return _VARIABLE, path


def rules_text(rules: Sequence[ObjectRule], compiler: Compiler, arch: str) -> str:
    """Rules as lines."""
    return "".join(f"{_line(rule, compiler, arch)}\n" for rule in rules)


def other_compilers(rule: ObjectRule, arch: str) -> tuple[OtherCompiler, ...]:
    """The compiler that a rule names, if it names one, and its fallback, if it has one.

    Raises:
        UserError: one is not installed.
    """
    return tuple(find_other(name, arch) for name in (rule.compiler, rule.fallback) if name)


def without_object(rules: Iterable[ObjectRule], logs: Iterable[Path]) -> list[str]:
    """Patterns of rules that match no object that was compiled from C. logs: of kbuild."""
    compiled: set[str] = set()
    for log in logs:
        compiled |= set(_OBJECT.findall(log.read_text(encoding="utf-8", errors="replace")))
    return [
        pattern
        for rule in rules
        for pattern in rule.match
        if not any(map(regex_of(pattern).fullmatch, compiled))
    ]


def _line(rule: ObjectRule, compiler: Compiler, arch: str) -> str:
    others = other_compilers(rule, arch)
    assembler: list[str] = [rule.assembler] if rule.assembler else []
    family = others[0].family if others else compiler.family
    if rule.assembler == CLANG and family != CLANG:
        assembler.append(find_toolchain(default_compiler()).compiler.program)
    named = [(each.program, each.content, each.family) for each in others]
    first, fallback = (*named, (), ())[:2]
    fields = (rule.match, first, rule.flags, assembler, rule.steps, fallback)
    return "\t".join(" ".join(words) for words in fields)
