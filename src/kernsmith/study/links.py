# SPDX-License-Identifier: GPL-2.0-or-later
"""Links that are done in another way than the others: another linker, or steps on what it is given.

As of objects, a study names shipped steps and linkers by the names of their programs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from kernsmith.errors import UserError
from kernsmith.study.objects import NAME, NONE, chosen

VMLINUX, MODULES, RELOCATABLE, OTHERS = "vmlinux", "modules", "relocatable", "others"
KINDS = {
    VMLINUX: "the kernel",
    MODULES: "its modules",
    RELOCATABLE: "several objects linked as one (-r)",
    OTHERS: "boot code and the vDSO",
}

# By what is in front of the `=`: what stands behind it, and what the step does (native/compiler).
LINK_STEPS: dict[str, tuple[str, str]] = {
    "first": (
        r"[\w.+,*?-]+(/[\w.+,*?-]+)*",
        "first=PATTERN: objects that are linked before all others",
    ),
    "align": (
        r"\.[\w.]+:\d{1,9}",
        "align=SECTION:BYTES: where the linker script gathers a section, it is aligned",
    ),
}
_LINKER = re.compile(r"lld(-\d+)?|bfd", re.ASCII)


@dataclass(frozen=True)
class LinkRule:
    """One way of linking, and for which links.

    match: of `KINDS`. linker: `lld`, `lld-22`, `bfd`; empty for the variant's. steps: on the order
    of objects and on the linker script of vmlinux, in their order.
    name: by which levels of the factor `links` choose it; rules without one hold in all variants.
    """

    match: tuple[str, ...]
    linker: str = ""
    steps: tuple[str, ...] = ()
    name: str = ""

    def identity(self) -> list[object]:
        """What it says, without its name."""
        return [self.match, self.linker, self.steps]


def check_links(rules: Sequence[LinkRule]) -> None:
    """That rules mean something, and are harmless by themselves.

    Raises:
        UserError: one does not; one sentence with its place.
    """
    for number, rule in enumerate(rules):
        where = f"links.{number}"
        for kind in rule.match:
            if kind not in KINDS:
                allowed = "; ".join(f"{name} ({words})" for name, words in KINDS.items())
                raise UserError(
                    f"{where}.match: there are no links {kind!r}: allowed are {allowed}"
                )
        if rule.name and (not NAME.fullmatch(rule.name) or rule.name == NONE):
            raise UserError(f"{where}.name: {rule.name!r} is no name: letters, digits, '.', '-'")
        if rule.linker and not _LINKER.fullmatch(rule.linker):
            raise UserError(
                f"{where}.linker: {rule.linker!r} is no linker: allowed are lld, lld-22 and the "
                "like, and bfd"
            )
        if rule.linker and VMLINUX in rule.match:
            raise UserError(
                f"{where}.linker: what links {VMLINUX} is said by source.linker or the factor "
                "linker; here stands that of other links"
            )
        if rule.steps and set(rule.match) != {VMLINUX}:
            raise UserError(f"{where}.steps: steps are for links of {VMLINUX} only")
        for step in rule.steps:
            _check_step(step, f"{where}.steps")
        if not (rule.linker or rule.steps):
            raise UserError(f"{where}: a rule needs a linker or steps")


def links_of(rules: Sequence[LinkRule], level: str) -> tuple[LinkRule, ...]:
    """The rules that hold in a variant with this level of the factor `links`.

    Raises:
        UserError: the level names a rule that is not there.
    """
    names = chosen("links", [rule.name for rule in rules], level)
    return tuple(rule for rule in rules if not rule.name or rule.name in names)


def _check_step(step: str, where: str) -> None:
    name, _, argument = step.partition("=")
    pattern, _ = LINK_STEPS.get(name, ("", ""))
    if not pattern or not re.fullmatch(pattern, argument, re.ASCII):
        allowed = "; ".join(description for _, description in LINK_STEPS.values())
        raise UserError(
            f"{where}: {step!r} is no shipped step on links, and a study names no others: allowed "
            f"are {allowed}"
        )
