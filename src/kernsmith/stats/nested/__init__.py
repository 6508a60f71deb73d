# SPDX-License-Identifier: GPL-2.0-or-later
"""Statistics of seconds: runs within boots within layouts within variants.

A real machine's time varies on every level: a run (interrupts, other work), a boot (which physical
pages are whose, and so which sets of which caches), a layout (where code lies). The levels are
nested random factors (Kalibera & Jones 2013, "Rigorous benchmarking in reasonable time", ISMM), and
what a study may speak of is decided by the highest one that it repeats.
"""

from kernsmith.stats.nested.disturbances import Drift, Outlier, drifts, outliers
from kernsmith.stats.nested.effect import NestedEffect, Units, nested_effect, pair_units
from kernsmith.stats.nested.robust import Robust, robust_shift
from kernsmith.stats.nested.spending import Costs, Goal, Spending, spend
from kernsmith.stats.nested.timings import LEVELS, Level, Timing

__all__ = [
    "LEVELS", "Costs", "Drift", "Goal", "Level", "NestedEffect", "Outlier", "Robust", "Spending",
    "Timing", "Units", "drifts", "nested_effect", "outliers", "pair_units", "robust_shift", "spend",
]  # fmt: skip
