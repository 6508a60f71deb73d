# SPDX-License-Identifier: GPL-2.0-or-later
"""Propeller without an order of blocks: what was executed stays as the compiler had it."""

from __future__ import annotations

from dataclasses import replace

from kernsmith.study.steps.propeller import KIND as PROPELLER

KIND = replace(
    PROPELLER,
    name="splitting",
    title="Splitting",
    description="as propeller, but blocks keep the compiler's order: only hot and cold are split",
)
