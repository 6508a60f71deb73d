# SPDX-License-Identifier: GPL-2.0-or-later
"""`unseen`: how code is compiled that a profile has no counts of."""

from __future__ import annotations

from dataclasses import replace

from kernsmith.study.factors.protocol import Factor
from kernsmith.study.steps import find_step_kind
from kernsmith.study.variant import Variant

PLAIN, COLD = "plain", "cold"


def _apply(variant: Variant, level: str) -> Variant:
    steps = tuple(
        replace(step, unseen_is_cold=level == COLD)
        if find_step_kind(step.kind).is_told_of_unseen
        else step
        for step in variant.steps
    )
    return replace(variant, steps=steps)


FACTOR = Factor(
    name="unseen",
    description=f"{PLAIN}: functions that no training workload has run are compiled as without a "
    f"profile; {COLD}: for size and far away, for a kernel that runs what it was trained on and "
    "nothing else",
    apply=_apply,
    levels=(PLAIN, COLD),
    rank=2,
)
