# SPDX-License-Identifier: GPL-2.0-or-later
"""`profile`: none, or a stack of profile-guided steps, each trained by this study's own workloads.

A level names steps with `+` between them, the first one first: each is trained on the kernel that
is built with those before it. A step that is named again replaces its own earlier profile by one
of the better kernel; one without a profile (ThinLTO) holds from its place on, for all that follow.
`best` stands for the stack that `engine.best` finds.
"""

from __future__ import annotations

from dataclasses import replace

from kernsmith.study.factors.compiler import is_gcc
from kernsmith.study.factors.protocol import Factor, LevelError
from kernsmith.study.steps import line_table_symbols, step_kinds
from kernsmith.study.variant import Step, Variant

NONE = "none"
BEST = "best"
BEHIND = "+"


def _check(level: str) -> None:
    if level in (NONE, BEST):
        return
    words = level.split(BEHIND)
    if any(word not in step_kinds() for word in words):
        raise LevelError(
            f"factor 'profile' has no level {level!r}: allowed are "
            f"{', '.join((NONE, BEST, *step_kinds()))}, and several steps with {BEHIND!r} "
            "between them"
        )
    if early := [word for word in words[:-1] if not step_kinds()[word].compiles]:
        raise LevelError(f"{level!r} has a step behind {early[0]}, which must be the last one")
    for word in words:
        if beside := [other for other in step_kinds()[word].instead_of if other in words]:
            raise LevelError(
                f"{level!r} has {word} and {beside[0]}: a compiler reads the profile of one of them"
            )
    chosen: dict[str, str] = {}
    for word in words:
        for symbol, _ in step_kinds()[word].options:
            if symbol in chosen:
                raise LevelError(
                    f"{level!r} has {chosen[symbol]} and {word}: a kernel has one of them, once"
                )
            chosen[symbol] = word


def _apply(variant: Variant, level: str) -> Variant:
    names = [] if level == NONE else level.split(BEHIND)
    kinds = [step_kinds()[name] for name in names]
    # Variants without a profile have the symbols, too: they add the line tables that training
    # needs, and leave the profile as the only difference. gcc has no such symbols.
    line_tables = () if is_gcc(variant.compiler) else line_table_symbols()
    for symbol in (*line_tables, *(symbol for kind in kinds for symbol in kind.symbols)):
        variant = variant.with_option(symbol, "y")
    for kind in kinds:
        for symbol, value in kind.options:
            if symbol in dict(variant.options):
                raise LevelError(
                    f"profile={level} sets CONFIG_{symbol} by its step {kind.name}, and so does "
                    f"another factor or [source] options: leave one of them out"
                )
            variant = variant.with_option(symbol, value)
    return replace(variant, steps=tuple(Step(name) for name in names))


FACTOR = Factor(
    name="profile",
    description=f"{NONE}; {BEST}: the best stack that the toolchain and the source can carry; or "
    f"steps with {BEHIND!r} between them; "
    + "; ".join(f"{kind.name}: {kind.description}" for kind in step_kinds().values()),
    apply=_apply,
    allow=_check,
    rank=1,
)
