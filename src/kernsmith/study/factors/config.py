# SPDX-License-Identifier: GPL-2.0-or-later
"""`config`: the whole configuration: a shipped one, a fragment, or a complete `.config`."""

from __future__ import annotations

from dataclasses import replace

from kernsmith.study.factors.protocol import Factor, file_beside, not_empty

FACTOR = Factor(
    name="config",
    description="a shipped config, a fragment over tinyconfig, or a complete .config",
    apply=lambda variant, level: replace(variant, config=level),
    allow=not_empty("config"),
    locate=file_beside,
    path=lambda level: level,
)
