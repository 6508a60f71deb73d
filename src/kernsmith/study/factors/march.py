# SPDX-License-Identifier: GPL-2.0-or-later
"""`march`: the instruction set that the compiler may use (`-march=`), given by KCFLAGS.

Only the instruction set: for the ordering of instructions see `mtune`.
"""

from __future__ import annotations

import re

from kernsmith.study.factors.protocol import Factor, LevelError
from kernsmith.study.variant import Variant

DEFAULT = "default"


def _check(level: str) -> None:
    if not re.fullmatch(r"[a-z0-9][a-z0-9.+-]*", level):
        raise LevelError(
            f"factor 'march' has no level {level!r}: allowed is what the compiler's -march= "
            "takes, such as x86-64-v3 or znver3, and 'default'"
        )


def _apply(variant: Variant, level: str) -> Variant:
    return variant if level == DEFAULT else variant.with_flags(f"-march={level}")


FACTOR = Factor(
    name="march",
    description="-march= of the kernel's C code; 'default' leaves it to the kernel's config",
    apply=_apply,
    allow=_check,
)
