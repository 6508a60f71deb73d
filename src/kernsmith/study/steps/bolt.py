# SPDX-License-Identifier: GPL-2.0-or-later
"""BOLT: the linked kernel rewritten by LLVM's post-link optimiser, each function in its place.

That is BOLT's way with kernels (LLVM, bolt/docs/OptimizingLinux.md): it orders the blocks of a
function where the function lies; nothing moves from one function to another.
"""

from __future__ import annotations

from kernsmith.study.steps.kind import StepKind

KIND = StepKind(
    name="bolt",
    title="BOLT",
    description="the linked kernel rewritten by llvm-bolt, which orders the blocks inside each "
    "function; the last step",
    suffixes=(".fdata",),
    rewrites=True,
)
