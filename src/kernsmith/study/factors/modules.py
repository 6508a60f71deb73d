# SPDX-License-Identifier: GPL-2.0-or-later
"""`modules`: which modules of the kernel the guest loads, and when."""

from __future__ import annotations

import re
from dataclasses import replace

from kernsmith.study.factors.protocol import Factor, LevelError
from kernsmith.study.variant import Variant

CONFIG, NONE = "config", "none"
INSTALLED = "installed"
"""In a variant, in place of names: all that the config has, each when somebody wants it."""
_AND = "+"
_NAME = re.compile(r"[A-Za-z0-9_-]{1,55}")


def _check(level: str) -> None:
    names = level.split(_AND)
    levels = {CONFIG, INSTALLED, NONE}.intersection(names)
    if not all(map(_NAME.fullmatch, names)) or (levels and len(names) > 1):
        raise LevelError(
            f"factor 'modules' has no level {level[:80]!r}: allowed are {CONFIG}, {INSTALLED}, "
            f"{NONE}, and names of modules, several with {_AND!r} between them"
        )


def _apply(variant: Variant, level: str) -> Variant:
    names = () if level == NONE else tuple(level.split(_AND))
    return replace(variant, modules=None if level == CONFIG else names)


FACTOR = Factor(
    name="modules",
    description=f"{CONFIG}: the guest loads the modules that the config names; {INSTALLED}: it has "
    f"all modules of the config, and loads each when somebody wants it; {NONE}: it loads none; or "
    f"names, with {_AND!r} between them, each with those that it depends on",
    apply=_apply,
    allow=_check,
)
