# SPDX-License-Identifier: GPL-2.0-or-later
"""`source`: the kernel tree itself. Two revisions of one repository are two levels."""

from __future__ import annotations

from dataclasses import replace

from kernsmith.study.factors.protocol import Factor, not_empty

FACTOR = Factor(
    name="source",
    description="a kernel tree: a folder, a tarball, git:FOLDER@REVISION, debian:VERSION",
    apply=lambda variant, level: replace(variant, source=level),
    allow=not_empty("source"),
    names_file=True,
)
