# SPDX-License-Identifier: GPL-2.0-or-later
"""How often each line of a kernel's source was executed, by exact counts of its code."""

from kernsmith.profile.coverage.coverage import (
    Coverage,
    FunctionCount,
    LineCount,
    SourceFile,
    Stretch,
    cover,
)
from kernsmith.profile.coverage.hottest import HotLine, hottest_lines
from kernsmith.profile.coverage.lcov import lcov_text
from kernsmith.profile.coverage.pprof import pprof_bytes
from kernsmith.profile.coverage.texts import SourceTexts, counted_kernel, find_texts

__all__ = [
    "Coverage",
    "FunctionCount",
    "HotLine",
    "LineCount",
    "SourceFile",
    "SourceTexts",
    "Stretch",
    "counted_kernel",
    "cover",
    "find_texts",
    "hottest_lines",
    "lcov_text",
    "pprof_bytes",
]
