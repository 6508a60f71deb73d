# SPDX-License-Identifier: GPL-2.0-or-later
"""ThinLTO: functions are inlined across files, by the profiles of the steps before (arch/Kconfig).

It has no profile of its own, so nothing is trained for it.
"""

from __future__ import annotations

from kernsmith.study.steps.kind import StepKind

KIND = StepKind(
    name="thinlto",
    title="ThinLTO",
    description="optimised across files when linking (CONFIG_LTO_CLANG_THIN)",
    options=(("LTO_CLANG_THIN", "y"), ("LTO_NONE", "n")),
    trained=False,
)
