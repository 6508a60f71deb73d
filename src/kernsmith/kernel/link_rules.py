# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules for links as kbuild's linker (`native/compiler/src/links.rs`) reads them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from kernsmith import paths
from kernsmith.files import write_text
from kernsmith.kernel.toolchain.compiler import Compiler
from kernsmith.kernel.toolchain.linker import Linker, find_linker
from kernsmith.study.links import LinkRule

FILE = "links.rules"
WORD = "--ld"
"""The first word of a call that links."""
_VARIABLE = "KERNSMITH_LINKS"


def write_link_rules(folder: Path, rules: Sequence[LinkRule], compiler: Compiler) -> None:
    """Put the rules of a kernel into its folder; without rules there is no file.

    Raises:
        UserError: a linker is not installed.
    """
    path = folder / FILE
    if rules:
        write_text(path, link_rules_text(rules, compiler))
    else:
        path.unlink(missing_ok=True)


def place_link_rules(rules: Sequence[LinkRule], compiler: Compiler) -> tuple[str, Path]:
    """Keep rules for somebody else's make; returns the variable that names the file, and it."""
    text = link_rules_text(rules, compiler)
    path = paths.rules() / f"{hashlib.sha256(text.encode()).hexdigest()[:20]}.links"
    write_text(path, text)
    return _VARIABLE, path


def link_rules_text(rules: Sequence[LinkRule], compiler: Compiler) -> str:
    """Rules as lines. compiler: whose linker is meant where a rule's word leaves it open."""
    lines = []
    for rule in rules:
        other = other_linker(rule, compiler)
        fields = (rule.match, [other.program] if other else [], rule.steps)
        lines.append("\t".join(" ".join(words) for words in fields))
    return "".join(f"{line}\n" for line in lines)


def other_linker(rule: LinkRule, compiler: Compiler) -> Linker | None:
    """The linker that a rule names, if it names one.

    Raises:
        UserError: it is not installed.
    """
    return find_linker(rule.linker, compiler) if rule.linker else None
