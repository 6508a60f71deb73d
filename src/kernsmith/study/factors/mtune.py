# SPDX-License-Identifier: GPL-2.0-or-later
"""`mtune`: the CPU that instructions are chosen and ordered for (`-mtune=`), given by KCFLAGS.

The kernel's own flags say `-mtune=generic`, which a `-march=` behind them does not take back: a
variant with only `march` may use another instruction set and is tuned as before. The level `march`
tunes for the CPU that the variant's `-march=` names, as a compiler does by itself.
"""

from __future__ import annotations

import re

from kernsmith.study.factors.protocol import Factor, LevelError
from kernsmith.study.variant import Variant

DEFAULT = "default"
AS_MARCH = "march"


def _check(level: str) -> None:
    if not re.fullmatch(r"[a-z0-9][a-z0-9.+-]*", level):
        raise LevelError(
            f"factor 'mtune' has no level {level!r}: allowed is what the compiler's -mtune= takes, "
            f"such as znver3, {AS_MARCH!r} (as -march= says), and {DEFAULT!r}"
        )


def _apply(variant: Variant, level: str) -> Variant:
    if level == AS_MARCH:
        named = [flag.removeprefix("-march=") for flag in variant.flags if "-march=" in flag]
        # The psABI's levels are no CPUs: compilers tune them as generic.
        level = named[-1] if named and not named[-1].startswith("x86-64") else DEFAULT
    return variant if level == DEFAULT else variant.with_flags(f"-mtune={level}")


FACTOR = Factor(
    name="mtune",
    description="-mtune= of the kernel's C code; 'march' follows -march=, 'default' is generic",
    apply=_apply,
    allow=_check,
    rank=1,
)
