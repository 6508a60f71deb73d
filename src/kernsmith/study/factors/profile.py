# SPDX-License-Identifier: GPL-2.0-or-later
"""`profile`: none, or profile-guided with counts from this study's own training workloads."""

from __future__ import annotations

from dataclasses import replace

from kernsmith.study.factors.compiler import is_gcc
from kernsmith.study.factors.protocol import Factor
from kernsmith.study.profiles import profile_kinds
from kernsmith.study.variant import ProfileRequest, Variant

NONE = "none"
# What kernels have that are trained on; kinds that need more of them are trained with it added.
_LINE_TABLES = profile_kinds()["autofdo"]


def _apply(variant: Variant, level: str) -> Variant:
    # Variants without a profile have the options, too: they add the line tables that training
    # needs, and leave the profile as the only difference. gcc has no such options.
    kinds = [_LINE_TABLES] if level == NONE else [profile_kinds()[level]]
    if level != NONE or not is_gcc(variant.compiler):
        for symbol in (symbol for kind in kinds for symbol in kind.symbols):
            variant = variant.with_option(symbol, "y")
    return replace(variant, profile=None if level == NONE else ProfileRequest(kind=level))


FACTOR = Factor(
    name="profile",
    description="none, or "
    + "; ".join(f"{kind.name}: {kind.description}" for kind in profile_kinds().values()),
    apply=_apply,
    levels=(NONE, *profile_kinds()),
    rank=1,
)
