# SPDX-License-Identifier: GPL-2.0-or-later
"""`profile`: none, or profile-guided with counts from this study's own training workloads."""

from __future__ import annotations

from dataclasses import replace

from kernsmith.study.factors.protocol import Factor, one_of
from kernsmith.study.variant import ProfileRequest, Variant

NONE = "none"


def _apply(variant: Variant, level: str) -> Variant:
    # Both levels have the option: it adds the line tables that training needs, and leaves the
    # profile as the only difference between them.
    variant = variant.with_option("AUTOFDO_CLANG", "y")
    return replace(variant, profile=None if level == NONE else ProfileRequest(kind=level))


FACTOR = Factor(
    name="profile",
    description="none, or autofdo: compiled with the exact branch profile of the training runs",
    apply=_apply,
    check=one_of("profile", (NONE, "autofdo")),
)
