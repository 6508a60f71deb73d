# SPDX-License-Identifier: GPL-2.0-or-later
"""`compiler`: the C compiler, by the name of its program (`clang-22`, `gcc-12`) or its path."""

from __future__ import annotations

import re
from dataclasses import replace

from kernsmith.study.factors.protocol import PROGRAM_PATH, Factor, LevelError


def _check(level: str) -> None:
    if not re.fullmatch(rf"([\w.]+-)*(clang|gcc)(-\d+)?|{PROGRAM_PATH}", level):
        raise LevelError(
            f"factor 'compiler' has no level {level!r}: allowed are names such as clang-22 or "
            "gcc-12, or an absolute path without blanks and characters that a shell expands"
        )


def is_gcc(compiler: str) -> bool:
    """Whether a compiler is gcc, by the name of its program."""
    return "gcc" in compiler.rpartition("/")[2]


FACTOR = Factor(
    name="compiler",
    description="the compiler's program: clang-22, gcc-12, or an absolute path",
    apply=lambda variant, level: replace(variant, compiler=level),
    allow=_check,
    path=lambda level: level,
)
