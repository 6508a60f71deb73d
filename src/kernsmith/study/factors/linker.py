# SPDX-License-Identifier: GPL-2.0-or-later
"""`linker`: LLVM's ld.lld in one of its versions, or GNU ld."""

from __future__ import annotations

import re
from dataclasses import replace

from kernsmith.study.factors.protocol import PROGRAM_PATH, Factor, LevelError

DEFAULT = "default"


def _check(level: str) -> None:
    if not re.fullmatch(rf"{DEFAULT}|lld(-\d+)?|bfd|{PROGRAM_PATH}", level):
        raise LevelError(
            f"factor 'linker' has no level {level!r}: allowed are {DEFAULT}, lld, lld-22 and the "
            "like, bfd (GNU ld), or an absolute path without blanks and characters that a shell "
            "expands"
        )


FACTOR = Factor(
    name="linker",
    description="default (the compiler's own lld, else the newest), lld-22, bfd, or a path",
    apply=lambda variant, level: replace(variant, linker="" if level == DEFAULT else level),
    allow=_check,
    path=lambda level: level,
)
