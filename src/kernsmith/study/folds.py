# SPDX-License-Identifier: GPL-2.0-or-later
"""Folds: kernels that are trained without the workloads that they are judged by.

A profile is better on what it was trained on than on what its user runs in the end. With N folds,
each variant with trained steps is built N times more, each time without one N-th of the training
workloads, and measured on these alone. Together they say what the variant is worth to a workload
that nobody trained it on. What the study measures and never trains on, the variant itself tells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kernsmith.errors import UserError
from kernsmith.study.variant import Variant


def fold_workloads(
    folds: int, train: Sequence[str], workloads: Sequence[str]
) -> tuple[tuple[str, ...], ...]:
    """Which workloads each fold leaves out of training: every N-th of those that are measured, too.

    Raises:
        UserError: fewer than two folds, or fewer workloads than folds.
    """
    both = [name for name in workloads if name in train]
    if folds < 2 or folds > len(both):
        raise UserError(
            f"workloads.folds is {folds}: allowed are 0 and 2 to the number of workloads that are "
            f"trained on and measured ({len(both)})"
        )
    return tuple(tuple(both[fold::folds]) for fold in range(folds))


def in_folds(
    variants: Sequence[Variant], folds: int, workloads: Sequence[str]
) -> tuple[Variant, ...]:
    """All variants, and behind each that kernsmith trains those of its folds; 0: as they are.

    workloads: names of what is measured. A fold leaves out of what its variant is trained on.

    Raises:
        UserError: see `fold_workloads`.
    """
    if not folds:
        return tuple(variants)
    found: list[Variant] = []
    for variant in variants:
        found.append(variant)
        train = next((step.train for step in variant.steps if step.train), ())
        if train and not any(step.files for step in variant.steps):
            found += [_without(variant, names) for names in fold_workloads(folds, train, workloads)]
    return tuple(found)


def _without(variant: Variant, names: tuple[str, ...]) -> Variant:
    steps = tuple(
        replace(step, train=tuple(name for name in step.train if name not in names))
        for step in variant.steps
    )
    return replace(variant, steps=steps, without=names)
