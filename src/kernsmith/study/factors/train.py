# SPDX-License-Identifier: GPL-2.0-or-later
"""`train`: the workloads that a profile is trained on, for kernels that are made for some of them.

A level is the name of a workload or of a set of them, several with `+` between them, or `all`: what
the study trains on. It means nothing to a variant that is not trained.
"""

from __future__ import annotations

from dataclasses import replace

from kernsmith.study.factors.protocol import Factor, LevelError
from kernsmith.study.steps import find_step_kind
from kernsmith.study.variant import Variant

ALL = "all"
_AND = "+"


def _check(level: str) -> None:
    words = level.split(_AND)
    if not all(words):
        raise LevelError(
            f"factor 'train' has no level {level!r}: allowed are {ALL}, workloads and sets of "
            f"them, several with {_AND!r} between them"
        )
    if ALL in words[1:] or (words[0] == ALL and len(words) > 1):
        raise LevelError(f"factor 'train' has no level {level!r}: {ALL} stands by itself")


def _apply(variant: Variant, level: str) -> Variant:
    # Names of sets are left to the plan, which knows the catalogue.
    words = () if level == ALL else tuple(level.split(_AND))
    steps = tuple(
        replace(step, train=words) if find_step_kind(step.kind).trained else step
        for step in variant.steps
    )
    return replace(variant, steps=steps)


FACTOR = Factor(
    name="train",
    description=f"{ALL}: the workloads that the study trains on; or the names of some workloads "
    f"and sets, with {_AND!r} between them: each gives a kernel that is made for these",
    apply=_apply,
    allow=_check,
    rank=2,
)
