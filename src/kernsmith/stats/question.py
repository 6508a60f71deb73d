# SPDX-License-Identifier: GPL-2.0-or-later
"""What a study asks of its observations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

OVERALL = "overall"
TRAINED = "overall-trained"
HELD_OUT = "overall-held-out"
OF = "overall-of-"

Levels = tuple[tuple[str, str], ...]
"""A variant's level of each factor."""


@dataclass(frozen=True)
class Question:
    """What a study asks of its observations.

    variants: the first is the baseline. workloads: the whole mix. metrics: in the order of tables.
    primary: metrics whose verdicts over the whole mix are the primary family.
    looked_at: whether the study decides by its own figures how far it goes on: intervals and
        p-values are always-valid ones then.
    trained: by variant, the workloads its profile was trained on; no entry for a variant without
        one, or whose training nobody knows; empty where every workload was held out.
    specialities: workloads that some variants were made for, by name: all are judged by each.
    factors: those with several levels, the first of which is the baseline. levels: by variant;
        those without an entry take no part in them.
    """

    variants: tuple[str, ...]
    workloads: tuple[str, ...]
    metrics: tuple[str, ...]
    primary: frozenset[str]
    alpha: float = 0.05
    looked_at: bool = False
    trained: Mapping[str, frozenset[str]] = field(default_factory=dict)
    specialities: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    factors: tuple[tuple[str, tuple[str, ...]], ...] = ()
    levels: Mapping[str, Levels] = field(default_factory=dict)

    @property
    def tests(self) -> int:
        """How many verdicts the primary family has at most."""
        return max(1, len(self.primary & set(self.metrics)) * (len(self.variants) - 1))

    def mixes(self, variant: str) -> dict[str, tuple[str, ...]]:
        """The whole mix, and apart what a variant was trained on, what was held out, and what it or
        another one was made for."""
        found = {OVERALL: self.workloads}
        trained = self.trained.get(variant, frozenset())
        known = tuple(name for name in self.workloads if name in trained)
        others = tuple(name for name in self.workloads if name not in trained)
        if known and others:
            found |= {TRAINED: known, HELD_OUT: others}
        return found | {f"{OF}{name}": names for name, names in self.specialities.items()}
