# SPDX-License-Identifier: GPL-2.0-or-later
"""`period`: how densely branches are sampled in training."""

from __future__ import annotations

from dataclasses import replace

from kernsmith.study.factors.protocol import Factor, LevelError
from kernsmith.study.steps import find_step_kind
from kernsmith.study.variant import Variant

EXACT = "exact"
LEAST, MOST = 100, 10**12


def _check(level: str) -> None:
    # Its length first: int() refuses numbers of thousands of digits.
    is_number = level.isdecimal() and level.isascii() and len(level) <= len(str(MOST))
    if level != EXACT and not (is_number and LEAST <= int(level) <= MOST):
        raise LevelError(
            f"factor 'period' has no level {level!r}: allowed are {EXACT} and numbers of taken "
            f"branches from {LEAST} to {MOST}"
        )


def _apply(variant: Variant, level: str) -> Variant:
    if level == EXACT:
        return variant
    # Nobody who samples knows what never runs.
    steps = tuple(
        replace(step, period=int(level), unseen_is_cold=False)
        if find_step_kind(step.kind).reads_branches
        else step
        for step in variant.steps
    )
    return replace(variant, steps=steps)


FACTOR = Factor(
    name="period",
    description=f"{EXACT}: every branch of the training workloads is counted; N: every N-th taken "
    "branch of the kernel is a sample, with the 32 before it, as hardware has them (LBR, BRS); who "
    "samples does not know what never runs, so unseen = cold is plain then",
    apply=_apply,
    allow=_check,
    rank=3,
)
