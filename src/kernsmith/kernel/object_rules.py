# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules for objects as kbuild's compiler (`native/compiler/src/objects.rs`) reads them.

The file lies in a kernel's folder, or where somebody else's make is told (`KERNSMITH_OBJECTS`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path

from kernsmith import paths
from kernsmith.arch import DEFAULT
from kernsmith.files import write_text
from kernsmith.foreign import read_text
from kernsmith.kernel.artifact import file_digest
from kernsmith.kernel.mixable import disagreement
from kernsmith.kernel.toolchain import CLANG, find_compiler
from kernsmith.kernel.toolchain.compiler import Compiler, default_compiler
from kernsmith.kernel.toolchain.other import OtherCompiler, find_other
from kernsmith.study.objects import ObjectRule

FILE = "objects.rules"
_VARIABLE = "KERNSMITH_OBJECTS"
SUFFIX = ".rules"
"""Of the file for somebody else's make."""
_DIGITS = 20


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
    text = rules_text(rules, find_compiler(compiler), DEFAULT)
    programs = (step for rule in rules for step in rule.steps)
    return _VARIABLE, kept_rules(text, programs, SUFFIX)


def kept_rules(text: str, programs: Iterable[str], suffix: str) -> Path:
    """The file of rules for somebody else's make, named for what is in it.

    programs: steps; the content of those that are programs by their paths belongs to the rules, so
        that make sees by the file's name when one was changed.
    """
    named = sorted({program for program in programs if program.startswith("/")})
    notes = (f"# {program} {file_digest(Path(program))}\n" for program in named)
    text = "".join(notes) + text
    path = paths.rules() / f"{hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]}{suffix}"
    write_text(path, text)
    return path


def rules_text(rules: Sequence[ObjectRule], compiler: Compiler, arch: str) -> str:
    """Rules as lines."""
    return "".join(f"{_line(rule, compiler, arch)}\n" for rule in rules)


def other_compilers(rule: ObjectRule, arch: str) -> tuple[OtherCompiler, ...]:
    """The compiler that a rule names, if it names one, and its fallback, if it has one.

    Raises:
        UserError: one is not installed.
    """
    return tuple(find_other(name, arch) for name in (rule.compiler, rule.fallback) if name)


def assembling_compiler(
    rule: ObjectRule, compiler: Compiler, arch: str
) -> Compiler | OtherCompiler | None:
    """The clang that assembles what another compiler has written; None where the rule asks for
    none. Which compiler writes an object, another rule may say.

    compiler: of all other objects.
    """
    if rule.assembler != CLANG:
        return None
    known: tuple[Compiler | OtherCompiler, ...] = (*other_compilers(rule, arch), compiler)
    clangs = (each for each in known if each.family == CLANG)
    return next(clangs, None) or find_compiler(default_compiler())


def parting_flag(rule: ObjectRule) -> str:
    """Why the objects of a rule would not fit the others; empty: they do."""
    for flag in rule.flags:
        if reason := disagreement(flag):
            return f"not all objects would be compiled with {flag}: {reason}"
    return ""


def patterns_of(rules: Path) -> tuple[str, ...]:
    """All patterns in a file of rules. Raises UserError: it cannot be read, or is no text."""
    lines = read_text(rules, "the rules").splitlines()
    fields = (line.split("\t")[0] for line in lines if not line.startswith("#"))
    return tuple(dict.fromkeys(pattern for field in fields for pattern in field.split()))


def _line(rule: ObjectRule, compiler: Compiler, arch: str) -> str:
    named = [(each.program, each.content, each.family) for each in other_compilers(rule, arch)]
    first, fallback = (*named, (), ())[:2]
    clang = assembling_compiler(rule, compiler, arch)
    assembler = filter(None, (rule.assembler, clang.program if clang else ""))
    fields = (rule.match, first, rule.flags, assembler, rule.steps, fallback)
    return "\t".join(" ".join(words) for words in fields)
