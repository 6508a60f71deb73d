# SPDX-License-Identifier: GPL-2.0-or-later
"""Show what the engine does: bars on a terminal, sparse lines in a log. Always on stderr."""

from __future__ import annotations

import threading
import time
from types import TracebackType

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from kernsmith.report.sentences import decision_sentence
from kernsmith.stats.sequential import Decision

# A log gets one line of progress in this time.
_LINE_SECONDS = 20.0


class ProgressDisplay:
    """Listens to the engine. Use as a context manager."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._bars = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=self._console,
            disable=not self._console.is_terminal,
        )
        self._lock = threading.Lock()
        self._began = self._said = time.monotonic()
        self._title = ""
        self._task: TaskID | None = None

    def __enter__(self) -> ProgressDisplay:
        self._bars.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bars.stop()

    def stage(self, title: str) -> None:
        """A new bar, or a line in a log."""
        with self._lock:
            self._title = title
            if self._task is not None:
                self._bars.stop_task(self._task)
            self._task = None
            if self._console.is_terminal:
                self._task = self._bars.add_task(title, total=None)
            else:
                self._line(title)

    def progress(self, what: str, done: int, total: int) -> None:
        """Move the stage's bar."""
        with self._lock:
            if self._task is not None:
                self._bars.update(self._task, completed=done, total=max(total, done) or None)
            elif time.monotonic() - self._said > _LINE_SECONDS or done == total:
                self._line(f"{self._title}: {done}{f' of {total}' if total else ''} {what}")

    def counted(self, what: str, done: int) -> None:
        """So many of what nobody knows before how many there are."""
        self.progress(what, done, 0)

    def note(self, text: str, share: float | None = None) -> None:
        """A sentence above the bars; `share` (0 to 1) says how much of it is done."""
        with self._lock:
            if self._task is not None and share is not None:
                self._bars.update(self._task, completed=round(100 * share), total=100)
            elif share is None or time.monotonic() - self._said > _LINE_SECONDS:
                self._line(text)

    def decided(self, variant: str, decision: Decision) -> None:
        """A line that says whether a study goes on."""
        self.note(f"{variant}: {decision_sentence(decision)}")

    def _line(self, text: str) -> None:
        self._said = time.monotonic()
        minutes, seconds = divmod(int(self._said - self._began), 60)
        self._console.print(f"[{minutes:2d}:{seconds:02d}] {text}", markup=False, soft_wrap=True)
