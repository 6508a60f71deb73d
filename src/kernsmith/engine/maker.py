# SPDX-License-Identifier: GPL-2.0-or-later
"""Who makes what a study's machine runs: kernels that boot, or programs with a kernel in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from kernsmith.engine.events import Events
from kernsmith.engine.failures import Failures
from kernsmith.engine.forge import Forge
from kernsmith.engine.prepare import Prepared
from kernsmith.engine.training import Seen
from kernsmith.engine.trial_rows import Bootable
from kernsmith.engine.user_mode import UserMode
from kernsmith.engine.verdicts import Kernels
from kernsmith.engine.workers import Workers
from kernsmith.study import Variant


class Maker(Bootable, Kernels, Protocol):
    """Builds and links what a study needs, and remembers it.

    prepared: the study; may be replaced by the same with more layouts.
    failures: variants and layouts that could not be made, with the reason.
    """

    prepared: Prepared
    failures: Failures

    def failure(self, variant: Variant) -> str:
        """Why a variant could not be built; empty if it was, or was not tried."""
        ...

    def objects(self, variant: Variant) -> int:
        """How many objects its kernel is expected to have; 0 when nobody knows."""
        ...

    def build(self, meanwhile: Callable[[Workers], None] | None = None) -> None:
        """Build all variants of the study. The baseline must build; others may fail."""
        ...

    def link(self) -> None:
        """Link every layout of the study's trials."""
        ...

    def find(self) -> int:
        """Take what the caches hold and make nothing; returns how many images are missing."""
        ...


def open_maker(
    prepared: Prepared,
    events: Events,
    seen: Seen = lambda *run: None,
    workers: Workers | None = None,
) -> Maker:
    """The one for the images of a study's machine. seen, workers: see `Forge`."""
    if prepared.machine.images == "program":
        return UserMode(prepared, events)
    return Forge(prepared, events, seen, workers)
