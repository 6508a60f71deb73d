# SPDX-License-Identifier: GPL-2.0-or-later
"""`flags` and `flags_…`: flags of the C compiler, added to KCFLAGS.

Which ones a study may name is in `study.flags`.

There may be several such factors, told apart by what is behind the underscore: `flags_inline`,
`flags_unroll`.
"""

from __future__ import annotations

import re

from kernsmith.errors import UserError
from kernsmith.study.factors.protocol import Factor, LevelError
from kernsmith.study.flags import check_flags
from kernsmith.study.variant import Variant

PREFIX = "flags"
NONE = "none"


def factor_of(name: str) -> Factor:
    """The factor that adds its level's words to KCFLAGS."""
    if not re.fullmatch(rf"{PREFIX}(_[A-Za-z0-9_-]+)?", name):
        raise LevelError(f"{name!r} is not a name for flags: use {PREFIX} or {PREFIX}_SOMETHING")

    def check(level: str) -> None:
        if level == NONE:
            return
        try:
            check_flags(level.split())
        except UserError as error:
            raise LevelError(f"factor {name!r}: {error}") from None

    description = f"flags of the compiler: '-fno-inline -O3'; {NONE!r} or empty for none"
    return Factor(name=name, description=description, apply=_apply, allow=check)


def _apply(variant: Variant, level: str) -> Variant:
    return variant if level == NONE else variant.with_flags(*level.split())
