# SPDX-License-Identifier: GPL-2.0-or-later
"""Objects that are compiled in another way than the others: by patterns of their names.

A study file may be a stranger's: a rule names shipped steps, compilers by the names of their
programs and flags that any study may name; no file, and no program of its own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from kernsmith.errors import UserError
from kernsmith.study.flags import check_flags

NONE = "none"
WITH = "+"
"""Between the names of rules in a level of the factor `objects`."""

Assembler = Literal["", "gnu", "clang"]
"""Empty: the compiler's own."""

# By what is in front of the `=`: what stands behind it, and what the step does (native/compiler).
STEPS: dict[str, tuple[str, str]] = {
    "pad": (r"\d{1,18}", "pad=SEED: padding inside of functions, drawn by the seed"),
    "no-prefetch": (r"", "no-prefetch: without prefetches"),
    "prefetch": (
        r"[1-9]\d{0,4}",
        "prefetch=BYTES: prefetches so far ahead of what innermost loops read on their way",
    ),
    "align-loops": (
        r"8|16|32|64|128",
        "align-loops=BYTES: innermost loops begin at multiples of 8, 16, 32, 64 or 128 bytes",
    ),
    "align-jumps": (
        r"",
        "align-jumps: no jump over or up to a boundary of 32 bytes; it comes last",
    ),
    "count-entries": (r"", "count-entries: a counter for each function's entry"),
    "swap-comparison": (
        r"[A-Za-z_][\w.]*(:\d{1,6})?",
        "swap-comparison=FUNCTION[:NUMBER]: a miscompilation on purpose, for tests",
    ),
}

_PATTERN = re.compile(r"[\w.+,*?-]+(/[\w.+,*?-]+)*")
NAME = re.compile(r"[\w.-]+")
"""Of rules."""
_COMPILER = re.compile(r"([\w.]+-)*(clang|gcc|tcc|icx)(-\d+)?", re.ASCII)
# What takes no flags of gcc's and clang's, and writes no assembly that steps know.
_BARE = "tcc"


@dataclass(frozen=True)
class ObjectRule:
    """One way of compiling, and for which objects.

    match: patterns of objects as kbuild names them (`fs/pipe.o`): `*` is anything within a folder,
        `**` anything. What runs before the kernel or in user space (boot code, vDSO) is matched by
        whole names only.
    compiler: the name of its program; empty for the variant's. fallback: the name of the one that
        compiles what that one cannot; empty for none. flags: stand behind all others.
    steps: on the assembly, in their order. assembler: see `Assembler`.
    name: by which levels of the factor `objects` choose it; rules without one hold in all variants.
    """

    match: tuple[str, ...]
    compiler: str = ""
    flags: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    assembler: Assembler = ""
    name: str = ""
    fallback: str = ""

    def identity(self) -> list[object]:
        """What it says, without its name."""
        said: list[object] = [self.match, self.compiler, self.flags, self.steps, self.assembler]
        return [*said, self.fallback] if self.fallback else said


def check_rules(rules: Sequence[ObjectRule]) -> None:
    """That rules mean something, and are harmless by themselves.

    Raises:
        UserError: one does not; one sentence with its place.
    """
    for number, rule in enumerate(rules):
        where = f"objects.{number}"
        for pattern in rule.match:
            if not _PATTERN.fullmatch(pattern) or ".." in pattern.split("/"):
                raise UserError(f"{where}.match: {pattern!r} is no pattern of objects: fs/*.o is")
        if rule.name and (not NAME.fullmatch(rule.name) or rule.name == NONE):
            raise UserError(f"{where}.name: {rule.name!r} is no name: letters, digits, '.', '-'")
        _check_compilers(rule, where)
        try:
            check_flags(rule.flags)
        except UserError as error:
            raise UserError(f"{where}.flags: {error}") from None
        for step in rule.steps:
            check_step(step, f"{where}.steps")
        if not (rule.compiler or rule.flags or rule.steps or rule.assembler):
            raise UserError(f"{where}: a rule needs a compiler, flags, steps or an assembler")


def _check_compilers(rule: ObjectRule, where: str) -> None:
    for key, name in (("compiler", rule.compiler), ("fallback", rule.fallback)):
        if name and not _COMPILER.fullmatch(name):
            raise UserError(f"{where}.{key}: {name!r} is no compiler's name, as clang-19 is")
    if rule.fallback and not rule.compiler:
        raise UserError(
            f"{where}.fallback: {rule.fallback!r} has no compiler that it stands in for"
        )
    if rule.fallback and rule.fallback == rule.compiler:
        raise UserError(f"{where}.fallback: {rule.fallback!r} is the compiler itself")
    if rule.compiler == _BARE and (rule.flags or rule.steps or rule.assembler):
        raise UserError(f"{where}.compiler: {_BARE} takes no flags, and has no assembly for steps")


def check_step(step: str, where: str) -> None:
    """That a step is one of those that are shipped.

    Raises:
        UserError: it is not; the message lists them.
    """
    name, equals, argument = step.partition("=")
    pattern, _ = STEPS.get(name, ("", ""))
    known = name in STEPS and bool(equals) == bool(pattern)
    if not known or not re.fullmatch(pattern, argument, re.ASCII):
        allowed = "; ".join(description for _, description in STEPS.values())
        raise UserError(
            f"{where}: {step!r} is no shipped step, and a study names no others: allowed are "
            f"{allowed}"
        )


def rules_of(rules: Sequence[ObjectRule], level: str) -> tuple[ObjectRule, ...]:
    """The rules that hold in a variant with this level of the factor `objects`.

    Raises:
        UserError: the level names a rule that is not there.
    """
    names = chosen("objects", [rule.name for rule in rules], level)
    return tuple(rule for rule in rules if not rule.name or rule.name in names)


def chosen(table: str, names: Sequence[str], level: str) -> list[str]:
    """The names of rules that a level of the factor with their table's name asks for.

    names: of all rules of the table.

    Raises:
        UserError: the level names a rule that is not there.
    """
    wanted = [] if level in ("", NONE) else level.split(WITH)
    for name in wanted:
        if not name or name not in names:
            allowed = ", ".join([NONE, *sorted(set(filter(None, names)))])
            raise UserError(
                f"factor {table!r} has no level {name!r}: allowed are {allowed}, the names of "
                f"[[{table}]] in the study, with {WITH} between several"
            )
    return wanted


def regex_of(pattern: str) -> re.Pattern[str]:
    """A pattern of objects as a regular expression for whole names."""
    words = {"**": ".*", "*": "[^/]*", "?": "[^/]"}
    parts = re.split(r"(\*\*|\*|\?)", pattern)
    return re.compile("".join(words.get(part, re.escape(part)) for part in parts))
