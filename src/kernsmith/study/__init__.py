# SPDX-License-Identifier: GPL-2.0-or-later
"""Study, Factor, Variant, Layout, Trial: what is planned. Pure: no processes, no clock."""

from kernsmith.study.layout import Layout, LayoutLevel
from kernsmith.study.plan import Trial, plan_trials, plan_variants
from kernsmith.study.study import Design, Study
from kernsmith.study.variant import Step, Variant, digest_of

__all__ = [
    "Design",
    "Layout",
    "LayoutLevel",
    "Step",
    "Study",
    "Trial",
    "Variant",
    "digest_of",
    "plan_trials",
    "plan_variants",
]
