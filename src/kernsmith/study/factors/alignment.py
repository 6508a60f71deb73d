# SPDX-License-Identifier: GPL-2.0-or-later
"""`alignment`: where functions may start (`-falign-functions=`), in bytes.

The kernel's own FUNCTION_ALIGNMENT_* symbols cannot be set: they have no prompt and are selected by
what needs them. (`CONFIG_DEBUG_FORCE_FUNCTION_ALIGN_64B` can; it aligns assembly code, too.) The
compiler's flag stands behind the kernel's own and wins. gcc before 14 aligns only functions that it
does not take for cold.
"""

from __future__ import annotations

from kernsmith.study.factors.protocol import Factor
from kernsmith.study.variant import Variant

NONE = "none"


def _apply(variant: Variant, level: str) -> Variant:
    return variant if level == NONE else variant.with_flags(f"-falign-functions={level}")


FACTOR = Factor(
    name="alignment",
    description="-falign-functions= in bytes; 'none' leaves it to the kernel's config",
    apply=_apply,
    levels=(NONE, "16", "32", "64", "128"),
)
