# SPDX-License-Identifier: GPL-2.0-or-later
"""Which kernels a study needs, in the order in which their profiles allow: for all who ask.

A kernel that is trained on stands before those that are built with its profile, also when it is no
variant of the study itself.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from kernsmith.study import Variant, digest_of


@dataclass(frozen=True)
class PlannedKernel:
    """One kernel of a study.

    variant: the first of the variants that it serves, or the trainer of one.
    alone: no other kernel of the study, of another source or config, has objects that are compiled
        with the same flags.
    """

    variant: Variant
    alone: bool

    @property
    def key(self) -> str:
        """What tells it from the study's other kernels."""
        return identity(self.variant)


def plan_kernels(variants: Iterable[Variant]) -> tuple[PlannedKernel, ...]:
    """The kernels of these variants and all that they are trained on, each once, by depth."""
    needed: dict[str, Variant] = {}
    for variant in variants:
        needed.setdefault(identity(variant), variant)
    for variant in list(needed.values()):
        trainer = variant.trainer
        while trainer is not None:
            needed.setdefault(identity(trainer), trainer)
            trainer = trainer.trainer
    alike = Counter(variant.code for variant in needed.values())
    configs: dict[tuple[object, ...], set[tuple[object, ...]]] = defaultdict(set)
    for variant in needed.values():
        configs[variant.idle_code].add((variant.source, variant.config, variant.options))

    def is_alone(variant: Variant) -> bool:
        return alike[variant.code] == 1 and len(configs[variant.idle_code]) == 1

    by_depth = sorted(needed.values(), key=lambda variant: len(variant.steps))
    return tuple(PlannedKernel(variant, is_alone(variant)) for variant in by_depth)


def identity(variant: Variant) -> str:
    """Digest of what distinguishes kernels among variants of one source."""
    return digest_of(variant.identity())
