# SPDX-License-Identifier: GPL-2.0-or-later
"""Layout: the objects of the kernel below, linked in the best order of functions that is found."""

from __future__ import annotations

from kernsmith.study.steps.kind import StepKind

KIND = StepKind(
    name="layout",
    title="layout",
    description="linked in the order of functions that the layout lab finds to be the best; the "
    "last step",
    suffixes=(".order",),
    symbol_order=0,
    relinks=True,
)
