# SPDX-License-Identifier: GPL-2.0-or-later
"""`lto`: optimisation when linking, by the kernel's own choice (`LTO_NONE`, `LTO_CLANG_…`)."""

from __future__ import annotations

from kernsmith.study.factors.protocol import Factor
from kernsmith.study.variant import Variant

# arch/Kconfig, "Link Time Optimization (LTO)".
SYMBOLS = {"none": "LTO_NONE", "thin": "LTO_CLANG_THIN", "full": "LTO_CLANG_FULL"}


def _apply(variant: Variant, level: str) -> Variant:
    for name, symbol in SYMBOLS.items():
        # Others of the choice are named only to take them back: `none` adds nothing to a config
        # without LTO, and is the same kernel.
        if name == level:
            variant = variant.with_option(symbol, "y")
        elif level != "none" and name == "none":
            variant = variant.with_option(symbol, "n")
    return variant


FACTOR = Factor(
    name="lto",
    description="none, thin or full: CONFIG_LTO_NONE, CONFIG_LTO_CLANG_THIN, CONFIG_LTO_CLANG_FULL",
    apply=_apply,
    levels=tuple(SYMBOLS),
)
