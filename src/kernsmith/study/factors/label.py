# SPDX-License-Identifier: GPL-2.0-or-later
"""`label`: a name that changes nothing in the kernel. Two labels are an A/A study."""

from __future__ import annotations

from dataclasses import replace

from kernsmith.study.factors.protocol import Factor

FACTOR = Factor(
    name="label",
    description="any names: the same kernel under each, with layouts of its own (A/A studies)",
    apply=lambda variant, level: replace(variant, label=level),
)
