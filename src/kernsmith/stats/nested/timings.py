# SPDX-License-Identifier: GPL-2.0-or-later
"""What was timed, and its logarithms by layout, boot and run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, log
from typing import Literal

Level = Literal["layout", "boot", "run"]
LEVELS: tuple[Level, ...] = ("layout", "boot", "run")

Key = tuple[str, ...]
"""A layout; a layout and a boot; or a layout, a boot and a run."""


@dataclass(frozen=True)
class Timing:
    """One run.

    layout, boot, run: the same name in two variants belongs together: the same draw of a layout,
        one boot in which both ran, one round of runs next to each other.
    value: positive. position: place in the order of all runs.
    """

    variant: str
    layout: str
    boot: str
    run: str
    value: float
    position: int

    def key(self, level: Level) -> Key:
        """Which group of a level it belongs to."""
        return (self.layout, self.boot, self.run)[: LEVELS.index(level) + 1]

    @property
    def log(self) -> float:
        """Natural logarithm.

        Raises:
            ValueError: the value is not positive and finite.
        """
        if not (self.value > 0 and isfinite(self.value)):
            raise ValueError(f"a time must be positive and finite, not {self.value}")
        return log(self.value)


def grouped(rows: Sequence[Timing], level: Level) -> dict[Key, list[Timing]]:
    """Runs by group of a level, in the order in which the groups began."""
    found: dict[Key, list[Timing]] = {}
    for row in sorted(rows, key=lambda row: row.position):
        found.setdefault(row.key(level), []).append(row)
    return found
