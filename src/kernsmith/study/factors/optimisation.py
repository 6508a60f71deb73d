# SPDX-License-Identifier: GPL-2.0-or-later
"""`optimisation`: the compiler's optimisation level."""

from __future__ import annotations

from kernsmith.study.factors.protocol import Factor
from kernsmith.study.variant import Variant

SIZE = "CC_OPTIMIZE_FOR_SIZE"
PERFORMANCE = "CC_OPTIMIZE_FOR_PERFORMANCE"


def _apply(variant: Variant, level: str) -> Variant:
    if level == "Os":
        return variant.with_option(SIZE, "y").with_option(PERFORMANCE, "n")
    variant = variant.with_option(PERFORMANCE, "y").with_option(SIZE, "n")
    return variant.with_flags("-O3") if level == "O3" else variant


FACTOR = Factor(
    name="optimisation",
    description="O2 (the kernel's default), O3 or Os",
    apply=_apply,
    levels=("O2", "O3", "Os"),
)
