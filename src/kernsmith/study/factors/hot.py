# SPDX-License-Identifier: GPL-2.0-or-later
"""`hot`: how much of what was executed is hot."""

from __future__ import annotations

import re
from dataclasses import replace

from kernsmith.study.factors.protocol import Factor, LevelError
from kernsmith.study.steps import HOT, find_step_kind
from kernsmith.study.variant import Variant

# In millionths, as clang has it (`-profile-summary-cutoff-hot`); nothing and all are no cut-offs.
_SHARE = re.compile(r"0\.(?!0+$)[0-9]{1,6}", re.ASCII)


def _check(level: str) -> None:
    if not _SHARE.fullmatch(level):
        raise LevelError(
            f"factor 'hot' has no level {level!r}: allowed are shares of the execution between 0 "
            f"and 1, like {HOT}"
        )


def _apply(variant: Variant, level: str) -> Variant:
    steps = tuple(
        replace(step, hot=float(level)) if find_step_kind(step.kind).is_told_of_hot else step
        for step in variant.steps
    )
    return replace(variant, steps=steps)


FACTOR = Factor(
    name="hot",
    description="the blocks that are executed most are hot, up to this share of all that training "
    f"has executed; {HOT} where a study does not say",
    apply=_apply,
    allow=_check,
    rank=2,
)
