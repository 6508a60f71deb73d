# SPDX-License-Identifier: GPL-2.0-or-later
"""What is known of mixed kernels, kept in a file: after a kill a search goes on from there."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from kernsmith.files import append_line, whole_lines
from kernsmith.study.variant import digest_of

_DIGEST_SHOWN = 12


@dataclass(frozen=True)
class Kept:
    """What is known of a mixed kernel.

    taken: how many objects it has of the bad one. functions: how many functions, where not all of
        these objects are the bad one's as a whole.
    """

    taken: int
    judged: Mapping[str, Any]
    functions: int | None = None


class Journal:
    """One JSON object a line, in the order in which they were added; a line that a kill cut off
    does not count. Used by several threads."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = Lock()
        self._known: dict[str, Kept] = {}
        for line in whole_lines(path):
            kept = json.loads(line)
            self._known[kept["mix"]] = Kept(kept["taken"], kept["judged"], kept.get("functions"))

    def of(self, mix: str) -> Mapping[str, Any] | None:
        """What was added under this name."""
        with self._lock:
            found = self._known.get(mix)
        return found.judged if found else None

    def add(
        self, mix: str, taken: int, judged: Mapping[str, Any], functions: int | None = None
    ) -> None:
        """Keep what is known of a mixed kernel; see `Kept`."""
        kept = Kept(taken, judged, functions)
        line = json.dumps({"mix": mix, **asdict(kept)})
        with self._lock:
            append_line(self._path, line)
            self._known[mix] = kept

    def __iter__(self) -> Iterator[Kept]:
        return iter(list(self._known.values()))


def mix_name(taken: Collection[str]) -> str:
    """The name of a mixed kernel, which only what it has of the bad one decides."""
    return f"mix-{digest_of(sorted(taken))[:_DIGEST_SHOWN]}"
