# SPDX-License-Identifier: GPL-2.0-or-later
"""Full LTO: all files are optimised as one when linking."""

from __future__ import annotations

from dataclasses import replace

from kernsmith.study.steps.thinlto import KIND as THINLTO

KIND = replace(
    THINLTO,
    name="full-lto",
    title="full LTO",
    description="optimised as one file when linking (CONFIG_LTO_CLANG_FULL)",
    options=(("LTO_CLANG_FULL", "y"), ("LTO_NONE", "n")),
)
