# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether a program that is timed has the core to itself.

Another thread of the same core, of another guest perhaps, takes half of what is dispatched, and its
part of caches and buffers, for seconds or minutes. No counter of an operating system tells, and
halves of interleaved runs agree about it. What tells is how many instructions that do nothing the
core takes in a cycle (`native/python/src/shared_core.rs`): half as many. How many it takes when it
is alone is the most that was ever seen of this kind of processor, which is kept.

A hypervisor that has other work interrupts a guest, and TLBs and caches are cold when it goes on.
Some do so twenty thousand times a second, and then hardly a unit of a run is without.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from math import isfinite
from pathlib import Path
from typing import NamedTuple

from kernsmith._native import instructions_per_cycle, interruptions_per_second
from kernsmith.errors import UserError
from kernsmith.files import write_text
from kernsmith.stop import check_stop

PATIENCE = 120.0
"""Seconds for which programs that are timed together wait for a core of their own."""
_ALONE = 0.85
"""Of the most that was seen. Shared, it is half, or a little more where the neighbour waits."""
_OFTEN = 10_000.0
"""Interruptions a second. Of units of a tenth of a millisecond, one in three has none of them."""
_PAUSE = 0.05
_LONG = 5.0


class Quiet(NamedTuple):
    """What a core was like.

    ipc: instructions that it takes in a cycle. interrupted: times a second that something else ran
        for a microsecond or longer.
    """

    ipc: float
    interrupted: float

    def worse(self, other: Quiet) -> Quiet:
        """The worse of both."""
        return Quiet(min(self.ipc, other.ipc), max(self.interrupted, other.interrupted))

    def __str__(self) -> str:
        return (
            f"{self.ipc:.1f} instructions a cycle, {self.interrupted:,.0f} interruptions a second"
        )


def quiet_on(processor: int) -> Quiet:
    """What a core is like just now. processor: of the core, one that is allowed."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {processor})
    try:
        return Quiet(instructions_per_cycle(), interruptions_per_second())
    finally:
        os.sched_setaffinity(0, allowed)


def check_patience(seconds: float | None) -> float:
    """What was asked for; the default when nothing was.

    Raises:
        UserError: it is no time.
    """
    if seconds is None:
        return PATIENCE
    if not (isfinite(seconds) and seconds >= 0):
        raise UserError(f"--patience is 0 seconds or more, not {seconds:g}")
    return seconds


class Cores:
    """Processors that are waited for.

    processors: the one that is preferred first. patience: seconds in all, which what was done in
        vain counts as well. kept: the file with the most instructions a cycle that were seen; None:
        nothing is kept. note: told once that it takes long.
    """

    def __init__(
        self,
        processors: Sequence[int],
        patience: float = PATIENCE,
        kept: Path | None = None,
        note: Callable[[str], None] = lambda text: None,
        ask: Callable[[int], Quiet] = quiet_on,
    ) -> None:
        self.most = _read(kept)
        self._processors = list(processors)
        self._left = patience
        self._kept = kept
        self._note: Callable[[str], None] | None = note
        self._ask = ask

    @property
    def patient(self) -> bool:
        """Whether there is patience left."""
        return self._left > 0

    def quiet(self, processor: int) -> Quiet:
        """What a core is like just now; more instructions a cycle than ever before count when they
        are seen twice."""
        found = self._ask(processor)
        if found.ipc > self.most:
            found = found.worse(self._ask(processor))
            if found.ipc > self.most:
                self.most = found.ipc
                if self._kept:
                    write_text(self._kept, f"{found.ipc:.3f}\n")
        return found

    def alone(self, quiet: Quiet) -> bool:
        """Whether this is a core that nobody shares, and that is seldom interrupted."""
        return quiet.ipc >= _ALONE * self.most and quiet.interrupted <= _OFTEN

    def take(self) -> tuple[int, Quiet]:
        """A processor whose core is alone, and what it was like; the first one when there is no
        patience left."""
        began = time.monotonic()
        while True:
            check_stop()
            found = []
            for processor in self._processors:
                found.append((processor, self.quiet(processor)))
                if self.alone(found[-1][1]):
                    # Once it is good, it is likely to stay so, and its caches are warm.
                    self._processors.remove(processor)
                    self._processors.insert(0, processor)
                    self.spend(time.monotonic() - began)
                    return found[-1]
            waited = time.monotonic() - began
            if waited >= self._left:
                self.spend(waited)
                return found[0]
            if self._note and waited > _LONG:
                self._note(
                    f"others have a part of the core ({found[0][1]}; alone: {self.most:.1f}, "
                    f"and at most {_OFTEN:,.0f}): waiting for up to {self._left:.0f} s"
                )
                self._note = None
            time.sleep(_PAUSE)

    def spend(self, seconds: float) -> None:
        """Patience, on something that was in vain."""
        self._left -= seconds


def _read(kept: Path | None) -> float:
    """The most that was seen; 0 when nothing was, or the file is not ours."""
    try:
        most = float(kept.read_text(encoding="utf-8")) if kept else 0.0
    except (OSError, ValueError):
        return 0.0
    return most if isfinite(most) else 0.0
