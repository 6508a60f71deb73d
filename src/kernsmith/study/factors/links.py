# SPDX-License-Identifier: GPL-2.0-or-later
"""`links`: which of a study's `[[links]]` rules hold, by their names.

The rules are the study's: `plan_variants` puts those that a level names into the variant.
"""

from __future__ import annotations

from kernsmith.study.factors.protocol import Factor, not_empty

FACTOR = Factor(
    name="links",
    description="none, or names of [[links]] of the study, with + between them",
    apply=lambda variant, level: variant,
    allow=not_empty("links"),
)
