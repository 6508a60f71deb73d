# SPDX-License-Identifier: GPL-2.0-or-later
"""Lines of a console on which a program and the kernel speak: which is whose.

The kernel waits for no program's line to end: a line of its log may stand in the middle of one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

# What printk writes in front: a level, a time, and who has called it.
_STAMP = re.compile(r"(?:<\d{1,3}>)?\[ *\d+\.\d{6}\](?:\[ *[TC]\d+\])? ")

# Logs with such stamps, one line after another, are no one line.
_LONGEST = 1000


def told_apart(text: str, begins: re.Pattern[str], quotes: re.Pattern[str]) -> Iterator[str]:
    """The lines of a text; one that the kernel has spoken into is whole, and behind what it said.

    begins: how lines begin that are no rest of another one. quotes: how lines of a program begin in
    which it says itself what looks like a line of the log.
    """
    begun = ""
    for line in text.splitlines():
        if begun and _STAMP.match(line):
            yield line
            continue
        other = begins.match(line) and not begins.match(begun + line)
        if begun and (other or len(begun) > _LONGEST):
            yield begun
        else:
            line = begun + line
        begun = ""
        own = _STAMP.match(line) or quotes.match(line)
        if found := None if own else _STAMP.search(line):
            yield line[found.start() :]
            begun = line[: found.start()]
        else:
            yield line
    if begun:
        yield begun
