# SPDX-License-Identifier: GPL-2.0-or-later
"""The lines that a guest with many runs and its machine exchange (guest/timed/session.h)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from zlib import crc32

from kernsmith.machine.console import Said, read_console
from kernsmith.machine.protocol import FAILED

SESSION = r"kernsmith: session clock=(\S+) #[0-9a-f]{8}\s"
"""What a guest says when it waits for orders: with the name of the kernel's clock."""

_CHECKED = re.compile(r"^(kernsmith: .*) #([0-9a-f]{8})$")
_CHUNKS = re.compile(r"^kernsmith: chunks( \d{1,19}){1,16}$", re.ASCII)
_ABSENT = re.compile(r"^kernsmith: absent (\w{1,64}): (.+)$", re.ASCII)
_RAN = re.compile(r"^kernsmith: ran (\d{1,9}) lines=(\d{1,9}) status=(\d{1,9})$")
_SIGNALLED = 128


@dataclass(frozen=True)
class Answer:
    """What came of an order.

    said: as of a console. absent: by the name of a metric, why there is none of it.
    chunks: what each part of the region took, in ticks of the time stamp counter.
    damaged: what is wrong with the lines themselves; empty when all of them are as they were said.
    status: the exit status of the workload's process, or 128 and the signal that ended it.
    """

    said: Said
    absent: Mapping[str, str]
    chunks: tuple[int, ...]
    damaged: str
    status: int

    def verdict(self, workload: str) -> tuple[str, str]:
        """(status, reason) of the run."""
        if self.damaged:
            return FAILED, self.damaged
        if self.said.ended is None and self.status > _SIGNALLED:
            return FAILED, f"the workload was killed by signal {self.status - _SIGNALLED}"
        return self.said.verdict(workload)


def order(number: int, workload: str, rounds: int, warmup: int) -> str:
    """The order for a run; its number comes back with the answer."""
    return f"run {number} {workload} {rounds} {warmup}"


def end_of(number: int) -> str:
    """A pattern for all that is said up to the end of a run. Its line is said twice."""
    return rf"(?s).*?kernsmith: ran {number} lines=\d+ status=\d+ #[0-9a-f]{{8}}\s"


def read_answer(number: int, text: str) -> Answer:
    """Parse what came over the line behind an order.

    Lines without a checksum are the kernel's, and nobody's of the run; one of the run that the
    kernel has written into is missing, and the last line says how many there were.
    """
    lines: list[str] = []
    count, status = -1, 0
    for raw in text.splitlines():
        line = checked("".join(filter(str.isprintable, raw)).strip())
        if line is None:
            continue
        if match := _RAN.match(line):
            if int(match[1]) == number:
                count, status = int(match[2]), int(match[3])
            continue
        lines.append(line)
    damaged = ""
    if count != len(lines):
        damaged = f"of the {count} lines that the guest said, {len(lines)} came as they were said"
        if count < 0:
            damaged = "the last line of the guest did not come as it was said"
    said = read_console("\n".join(lines))
    return Answer(said, absent_in(lines), chunks_in(lines), damaged, status)


def absent_in(lines: Iterable[str]) -> dict[str, str]:
    """By the name of a metric, why a run says that there is none of it."""
    return {match[1]: match[2] for line in lines if (match := _ABSENT.match(line))}


def chunks_in(lines: Iterable[str]) -> tuple[int, ...]:
    """What a run says that each part of its region took, in their order; empty where nothing."""
    told = (line.split()[2:] for line in lines if _CHUNKS.match(line))
    return tuple(int(ticks) for line in told for ticks in line)


def checked(line: str) -> str | None:
    """A line without its checksum; None when it has none, or another one's."""
    match = _CHECKED.match(line)
    if match is None or crc32(match[1].encode()) != int(match[2], 16):
        return None
    return match[1]
