# SPDX-License-Identifier: GPL-2.0-or-later
"""`profile`: none, or a stack of profile-guided steps, each trained by this study's own workloads.

A level names steps with `+` between them, the first one first: each is trained on the kernel that
is built with those before it. A step that is named again replaces its own earlier profile by one
of the better kernel.
"""

from __future__ import annotations

from dataclasses import replace

from kernsmith.study.factors.compiler import is_gcc
from kernsmith.study.factors.protocol import Factor, LevelError
from kernsmith.study.steps import step_kinds
from kernsmith.study.variant import Step, Variant

NONE = "none"
BEHIND = "+"
# What kernels have that are trained on; kinds that need more have it among their own symbols.
_LINE_TABLES = step_kinds()["autofdo"]


def _check(level: str) -> None:
    unknown = [word for word in level.split(BEHIND) if word not in step_kinds()]
    if level != NONE and unknown:
        raise LevelError(
            f"factor 'profile' has no level {level!r}: allowed are "
            f"{', '.join((NONE, *step_kinds()))}, and several steps with {BEHIND!r} between them"
        )


def _apply(variant: Variant, level: str) -> Variant:
    names = [] if level == NONE else level.split(BEHIND)
    # Variants without a profile have the options, too: they add the line tables that training
    # needs, and leave the profile as the only difference. gcc has no such options.
    if names or not is_gcc(variant.compiler):
        for kind in [step_kinds()[name] for name in names] or [_LINE_TABLES]:
            for symbol in kind.symbols:
                variant = variant.with_option(symbol, "y")
    return replace(variant, steps=tuple(Step(name) for name in names))


FACTOR = Factor(
    name="profile",
    description=f"{NONE}, or steps with {BEHIND!r} between them; "
    + "; ".join(f"{kind.name}: {kind.description}" for kind in step_kinds().values()),
    apply=_apply,
    allow=_check,
    rank=1,
)
