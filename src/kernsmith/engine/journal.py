# SPDX-License-Identifier: GPL-2.0-or-later
"""What is known of mixed kernels, kept in a file: after a kill a search goes on from there."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from threading import Lock
from typing import Any

from kernsmith.files import append_line, whole_lines
from kernsmith.study.variant import digest_of

_DIGEST_SHOWN = 12


class Journal:
    """One JSON object a line, in the order in which they were added; a line that a kill cut off
    does not count. Used by several threads."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = Lock()
        self._known: dict[str, tuple[int, Mapping[str, Any]]] = {}
        for line in whole_lines(path):
            kept = json.loads(line)
            self._known[kept["mix"]] = (kept["taken"], kept["judged"])

    def of(self, mix: str) -> Mapping[str, Any] | None:
        """What was added under this name."""
        with self._lock:
            found = self._known.get(mix)
        return found[1] if found else None

    def add(self, mix: str, taken: int, judged: Mapping[str, Any]) -> None:
        """Keep what is known of a mixed kernel. taken: how many objects it has of the bad one."""
        line = json.dumps({"mix": mix, "taken": taken, "judged": judged})
        with self._lock:
            append_line(self._path, line)
            self._known[mix] = (taken, judged)

    def __iter__(self) -> Iterator[tuple[int, Mapping[str, Any]]]:
        return iter(list(self._known.values()))


def mix_name(taken: Collection[str]) -> str:
    """The name of a mixed kernel, which only the objects of the bad one in it decide."""
    return f"mix-{digest_of(sorted(taken))[:_DIGEST_SHOWN]}"
