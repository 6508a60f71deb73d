# SPDX-License-Identifier: GPL-2.0-or-later
"""What the guest said on its console: how the workload ended, and the guest's own figures."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite

from kernsmith.machine.protocol import FAILED, OK, PANIC

_FIGURE = re.compile(r"^kernsmith: metric (.*)$")
# As many letters as the ledger keeps, and what C prints as a finite number.
_METRIC = re.compile(r"(\w{1,64})=([+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)", re.ASCII)
_BEGIN = re.compile(r"^kernsmith: begin (\S+)$")
_END = re.compile(r"^kernsmith: end (\S+) status=([0-9]{1,9})(?!\S)\s*(.*)$")
_PANIC = re.compile(r"Kernel panic - not syncing: (.*)")


@dataclass(frozen=True)
class Said:
    """The parsed console.

    ended: (workload, status, message) of the end line, None when there was none.
    panic: the kernel's own words, empty when it did not panic.
    garbled: the first figure that is no finite number, as it stands there; None without one.
    """

    began: bool
    ended: tuple[str, int, str] | None
    panic: str
    metrics: Mapping[str, float]
    garbled: str | None = None

    def verdict(self, workload: str) -> tuple[str, str]:
        """(status, reason) for a boot that was to run this workload and has ended."""
        if self.panic:
            return PANIC, f"kernel panic: {self.panic}"
        if self.ended is None:
            what = "the workload did not end" if self.began else "the guest did not start"
            return FAILED, what
        name, status, message = self.ended
        if name != workload:
            return FAILED, f"the guest ran {name!r} instead"
        if status:
            return FAILED, f"the workload failed with errno {status} {message}".rstrip()
        if self.garbled is not None:
            return FAILED, f"the guest's figure {self.garbled!r} is no number"
        return OK, ""


def read_console(text: str) -> Said:
    """Parse everything that came over the serial line, whole or cut anywhere.

    Foreign lines are ignored, and so are characters that no one can see.
    """
    began, ended, panic, garbled = False, None, "", None
    metrics: dict[str, float] = {}
    for line in text.splitlines():
        line = "".join(filter(str.isprintable, line)).strip()
        if match := _FIGURE.match(line):
            figure = _METRIC.fullmatch(match[1])
            if figure and isfinite(float(figure[2])):
                metrics[figure[1]] = float(figure[2])
            elif garbled is None:
                garbled = match[1]
        elif _BEGIN.match(line):
            began = True
        elif match := _END.match(line):
            ended = (match[1], int(match[2]), match[3])
        elif match := _PANIC.search(line):
            panic = panic or match[1]
    return Said(began, ended, panic, metrics, garbled)
