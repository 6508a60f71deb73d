# SPDX-License-Identifier: GPL-2.0-or-later
"""`KCFLAGS` and `KCFLAGS_…`: any flags of the C compiler.

There may be several such factors, told apart by what is behind the underscore: `KCFLAGS_inline`,
`KCFLAGS_unroll`.
"""

from __future__ import annotations

import re
import shlex

from kernsmith.study.factors.protocol import Factor, LevelError
from kernsmith.study.variant import Variant

PREFIX = "KCFLAGS"
NONE = "none"


def factor_of(name: str) -> Factor:
    """The factor that adds its level's words to KCFLAGS."""
    if not re.fullmatch(rf"{PREFIX}(_[A-Za-z0-9_-]+)?", name):
        raise LevelError(f"{name!r} is not a name for flags: use {PREFIX} or {PREFIX}_SOMETHING")

    def check(level: str) -> None:
        # kbuild hands KCFLAGS to a shell unquoted: nothing but blanks may be special in it.
        if level != NONE and not re.fullmatch(r"-[\w=+,.:/@%-]+( +[\w=+,.:/@%-]+)*", level):
            raise LevelError(
                f"factor {name!r} has no level {level!r}: allowed are {NONE!r} and flags such as "
                '"-fno-inline-functions -funroll-loops", without quotes and shell characters'
            )

    return Factor(name=name, description="flags added to KCFLAGS", apply=_apply, allow=check)


def _apply(variant: Variant, level: str) -> Variant:
    return variant if level == NONE else variant.with_flags(*shlex.split(level))
