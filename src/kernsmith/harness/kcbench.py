# SPDX-License-Identifier: GPL-2.0-or-later
"""What kcbench prints (its README): a head about the machine, then a line a run.

    Run 1 (-j 16):       161.38 seconds / 22.31 kernels/hour [P:1440%, 134 maj. pagefaults]

or, until version 0.4,

    Run 1 (-j 8):       3827 points  (e:261.30 sec  P:385% U:910.60 sec  S:97.84 sec)
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kernsmith.harness.protocol import SECONDS, Content, Format, Measure, Row, Table, number

_RUN = re.compile(r"^[>\s]*Run \d+ \(-j (\d+)\):\s+(.*)$")
_NEW = re.compile(r"^(\S+) seconds / \S+ kernels/hour\b")
_OLD = re.compile(
    r"^\S+ points\s+\(e:\s*(\S+) sec\s+P:\S*(?:\s+U:\s*(\S+) sec)?(?:\s+S:\s*(\S+) sec)?"
)
_LABELS = {
    "Linux running": "running",
    "Linux compiled": "compiled",
    "Compiler": "compiler",
    "Processor": "processor",
    "Build command": "command",
}
_HEAD = re.compile(rf"^[>\s]*({'|'.join(_LABELS)}):\s+(.*)$")
_MEASURES = tuple(Measure(name) for name in (SECONDS, "user_seconds", "sys_seconds"))


def read(content: Content) -> Table | None:
    """One group a file; the number of jobs belongs to the benchmark."""
    if "(-j " not in content.text:
        return None
    lines = content.text.splitlines()
    if not any(_times(line) for line in lines):
        return None
    settings = tuple(_LABELS.values())
    rows = tuple(_rows(lines))
    return Table(rows, (), ("jobs",), settings=settings, headline=SECONDS, ordered=True)


def _rows(lines: list[str]) -> Iterator[Row]:
    head: dict[str, str] = {}
    for place, line in enumerate(lines, 1):
        if found := _HEAD.match(line):
            head[_LABELS[found[1]]] = found[2].strip()
        if times := _times(line):
            jobs, texts = times
            for measure, text in zip(_MEASURES, texts, strict=False):
                value = number(text, f"line {place}")
                yield Row("kcbench", measure, value, {**head, "jobs": jobs}, place)


def _times(line: str) -> tuple[str, list[str]] | None:
    """The number of jobs, and real, user and system time as far as they are there."""
    run = _RUN.match(line)
    found = run and (_NEW.match(run[2]) or _OLD.match(run[2]))
    if not run or not found:
        return None
    return run[1], [text for text in found.groups() if text]


FORMAT = Format("kcbench", "what it prints", read)
