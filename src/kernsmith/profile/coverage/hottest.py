# SPDX-License-Identifier: GPL-2.0-or-later
"""The lines of the source in which most was executed."""

from __future__ import annotations

from typing import NamedTuple

from kernsmith.profile.coverage.coverage import Coverage


class HotLine(NamedTuple):
    """A line that ran.

    share: of all executed instructions, from 0 to 1. times: how often it was executed. file: as the
    line tables name it.
    """

    share: float
    times: int
    file: str
    line: int
    function: str


def hottest_lines(coverage: Coverage) -> list[HotLine]:
    """All lines that ran, the one with most of the run first."""
    found = [
        HotLine(
            coverage.share(line.executed),
            line.times,
            file.path,
            line.line,
            coverage.functions[line.function].name,
        )
        for file in coverage.files
        for line in file.lines
        if line.executed
    ]
    return sorted(found, key=lambda one: (-one.share, one.file, one.line))
