# SPDX-License-Identifier: GPL-2.0-or-later
"""Distributed ThinLTO: the linker only says what goes where, the compiler makes each object."""

from __future__ import annotations

from dataclasses import replace

from kernsmith.study.steps.thinlto import KIND as THINLTO

KIND = replace(
    THINLTO,
    name="thinlto-dist",
    title="distributed ThinLTO",
    description="as thinlto, but each object is compiled apart (CONFIG_LTO_CLANG_THIN_DIST)",
    options=(("LTO_CLANG_THIN_DIST", "y"), ("LTO_NONE", "n")),
)
