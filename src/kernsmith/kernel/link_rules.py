# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules for links as kbuild's linker (`native/compiler/src/links.rs`) reads them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kernsmith.files import write_text
from kernsmith.kernel.object_rules import kept_rules
from kernsmith.kernel.toolchain.linker import Linker, named_linker
from kernsmith.study.links import LinkRule

FILE = "links.rules"
SUFFIX = ".links"
"""Of the file for somebody else's make."""
WORD = "--ld"
"""The first word of a call that links."""
_VARIABLE = "KERNSMITH_LINKS"


def write_link_rules(folder: Path, rules: Sequence[LinkRule]) -> None:
    """Put the rules of a kernel into its folder; without rules there is no file.

    Raises:
        UserError: a linker is not installed.
    """
    path = folder / FILE
    if rules:
        write_text(path, link_rules_text(rules))
    else:
        path.unlink(missing_ok=True)


def place_link_rules(rules: Sequence[LinkRule]) -> tuple[str, Path]:
    """Keep rules for somebody else's make; returns the variable that names the file, and it.

    Raises:
        UserError: a linker is not installed.
    """
    programs = (step.partition(":")[2] for rule in rules for step in rule.steps)
    return _VARIABLE, kept_rules(link_rules_text(rules), programs, SUFFIX)


def link_rules_text(rules: Sequence[LinkRule]) -> str:
    """Rules as lines."""
    lines = []
    for rule in rules:
        other = other_linker(rule)
        fields = (rule.match, [other.program] if other else [], rule.steps)
        lines.append("\t".join(" ".join(words) for words in fields))
    return "".join(f"{line}\n" for line in lines)


def other_linker(rule: LinkRule) -> Linker | None:
    """The linker that a rule names, if it names one.

    Raises:
        UserError: it is not installed.
    """
    return named_linker(rule.linker) if rule.linker else None
