# SPDX-License-Identifier: GPL-2.0-or-later
"""What the guest said on its console: how the workload ended, and the guest's own figures."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from kernsmith.machine.protocol import FAILED, OK, PANIC

_METRIC = re.compile(r"^kernsmith: metric (\w+)=([0-9.eE+-]+)$")
_BEGIN = re.compile(r"^kernsmith: begin (\S+)$")
_END = re.compile(r"^kernsmith: end (\S+) status=(\d+)\s*(.*)$")
_PANIC = re.compile(r"Kernel panic - not syncing: (.*)")


@dataclass(frozen=True)
class Said:
    """The parsed console.

    ended: (workload, status, message) of the end line, None when there was none.
    panic: the kernel's own words, empty when it did not panic.
    """

    began: bool
    ended: tuple[str, int, str] | None
    panic: str
    metrics: Mapping[str, float]

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
        return OK, ""


def read_console(text: str) -> Said:
    """Parse everything that came over the serial line; foreign lines are ignored."""
    began, ended, panic = False, None, ""
    metrics: dict[str, float] = {}
    for line in text.splitlines():
        line = line.strip()
        if match := _METRIC.match(line):
            metrics[match[1]] = float(match[2])
        elif _BEGIN.match(line):
            began = True
        elif match := _END.match(line):
            ended = (match[1], int(match[2]), match[3])
        elif match := _PANIC.search(line):
            panic = panic or match[1]
    return Said(began, ended, panic, metrics)
