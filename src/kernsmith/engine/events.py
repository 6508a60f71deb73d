# SPDX-License-Identifier: GPL-2.0-or-later
"""What the engine says while it works; the command line shows it, tests listen to it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

from kernsmith.stats.sequential import Decision


class Events(Protocol):
    """A listener. Calls may come from several threads."""

    def stage(self, title: str) -> None:
        """A new stage of work begins."""

    def progress(self, what: str, done: int, total: int) -> None:
        """`done` of `total` units of the stage's work are over; a total of 0 is unknown."""

    def note(self, text: str, share: float | None = None) -> None:
        """Something that the user should know, now: a failed trial, a cache hit.

        share: how much of what `text` says is done, from 0 to 1; None for a plain remark.
        """

    def decided(self, variant: str, decision: Decision) -> None:
        """A study that goes on until it is clear has looked at a variant."""


class Beside:
    """Tells a listener of what is done beside the stage that it shows: no stage and no progress of
    its own."""

    def __init__(self, events: Events) -> None:
        self._events = events

    def stage(self, title: str) -> None:
        """A remark."""
        self._events.note(f"meanwhile: {title}")

    def progress(self, what: str, done: int, total: int) -> None: ...

    def note(self, text: str, share: float | None = None) -> None:
        """As it is."""
        self._events.note(text, share)

    def decided(self, variant: str, decision: Decision) -> None:
        """As it is."""
        self._events.decided(variant, decision)


class Clocked:
    """Passes all on to a listener, and keeps how long each stage took.

    clock: seconds since some moment.
    """

    def __init__(self, events: Events, clock: Callable[[], float] = time.monotonic) -> None:
        self._events = events
        self._clock = clock
        self._began: list[tuple[str, float]] = []

    def stage(self, title: str) -> None:
        """The one before is over."""
        self._began.append((title, self._clock()))
        self._events.stage(title)

    def progress(self, what: str, done: int, total: int) -> None:
        """As it is."""
        self._events.progress(what, done, total)

    def note(self, text: str, share: float | None = None) -> None:
        """As it is."""
        self._events.note(text, share)

    def decided(self, variant: str, decision: Decision) -> None:
        """As it is."""
        self._events.decided(variant, decision)

    def steps(self) -> tuple[tuple[str, float], ...]:
        """Each stage, by its title, and its seconds up to now; one title is one step."""
        found: dict[str, float] = {}
        over = self._clock()
        for title, began in reversed(self._began):
            found[title] = found.get(title, 0.0) + over - began
            over = began
        order = dict.fromkeys(title for title, _ in self._began)
        return tuple((title, found[title]) for title in order)


class Silent:
    """A listener that ignores everything."""

    def stage(self, title: str) -> None: ...

    def progress(self, what: str, done: int, total: int) -> None: ...

    def note(self, text: str, share: float | None = None) -> None: ...

    def decided(self, variant: str, decision: Decision) -> None: ...
