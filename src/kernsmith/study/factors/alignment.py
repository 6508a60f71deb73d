# SPDX-License-Identifier: GPL-2.0-or-later
"""`alignment`: where functions may start (`-falign-functions=`), in bytes."""

from __future__ import annotations

from kernsmith.study.factors.protocol import Factor, one_of
from kernsmith.study.variant import Variant

NONE = "none"


def _apply(variant: Variant, level: str) -> Variant:
    return variant if level == NONE else variant.with_flags(f"-falign-functions={level}")


FACTOR = Factor(
    name="alignment",
    description="-falign-functions= in bytes; 'none' leaves it to the kernel's config",
    apply=_apply,
    check=one_of("alignment", (NONE, "16", "32", "64", "128")),
)
