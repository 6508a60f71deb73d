# SPDX-License-Identifier: GPL-2.0-or-later
"""`flags`: what is added to the kernel's C flags (KCFLAGS), as in a shell."""

from __future__ import annotations

import shlex

from kernsmith.study.factors.protocol import Factor, LevelError
from kernsmith.study.variant import Variant


def _check(level: str) -> None:
    try:
        words = shlex.split(level)
    except ValueError as error:
        raise LevelError(f"factor 'flags' has no level {level!r}: {error}") from None
    for word in words:
        if not word.startswith("-"):
            raise LevelError(
                f"factor 'flags' has no level {level!r}: {word!r} is no flag; flags start with "
                "'-', an empty level adds none"
            )


def _apply(variant: Variant, level: str) -> Variant:
    return variant.with_flags(*shlex.split(level))


FACTOR = Factor(
    name="flags",
    description="flags of the compiler, as in a shell: '-fno-inline -O3'; empty for none",
    apply=_apply,
    check=_check,
)
