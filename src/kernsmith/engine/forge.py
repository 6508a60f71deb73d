# SPDX-License-Identifier: GPL-2.0-or-later
"""Variants → kernels → images: the three that make them, behind one door."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from kernsmith.engine.build_plan import identity
from kernsmith.engine.events import Events
from kernsmith.engine.failures import Failures
from kernsmith.engine.images import Images
from kernsmith.engine.kernels import Kernels
from kernsmith.engine.making import Link
from kernsmith.engine.prepare import Prepared
from kernsmith.engine.profiles import Profiles
from kernsmith.engine.training import Seen
from kernsmith.engine.trial_rows import CHECKED
from kernsmith.engine.workers import LocalWorkers, Workers
from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.recipe import StepProfile, make_recipe
from kernsmith.profile import call_lines
from kernsmith.study import Layout, Trial, Variant
from kernsmith.study.layout import PROFILE


class Forge:
    """Builds what a study needs (`Kernels`, which train by `Profiles`), links it (`Images`), and
    remembers both.

    failures: variants and layouts that could not be made, with the reason.
    """

    def __init__(
        self,
        prepared: Prepared,
        events: Events,
        seen: Seen = lambda *run: None,
        workers: Workers | None = None,
    ) -> None:
        """seen: called with (kernel, workload, outcome, start time) of each training run.
        workers: who builds and links; by default this machine.
        """
        workers = workers or LocalWorkers()
        self.prepared = prepared
        self.failures = Failures()
        self._seen = seen
        self._profiles = Profiles(prepared, events, workers)
        self.kernels = Kernels(prepared, events, self._profiles, self.failures, workers)
        by_place = prepared.study.design.pairing == "place"
        self._images = Images(self.kernels, events, self.failures, self._calls, by_place, workers)

    def kernel(self, variant: Variant) -> Kernel | None:
        """The kernel of a variant, if it could be built."""
        return self.kernels.kernel(variant)

    def failure(self, variant: Variant) -> str:
        """Why a variant could not be built; empty if it was, or was not tried."""
        return self.kernels.failure(variant)

    def profile(self, variant: Variant) -> tuple[Path, ...]:
        """The files of the profile that the last step of a variant was built with."""
        return self.kernels.files(variant)

    def profiles(self, variant: Variant) -> tuple[StepProfile, ...]:
        """What each step of a variant that was built has handed to the build."""
        return self.kernels.profiles[identity(variant)]

    def image(self, variant: Variant, layout: Layout) -> Path | None:
        """The image of a variant in a layout, if it could be made."""
        return self._images.image(variant, layout)

    def order(self, variant: Variant, layout: Layout) -> Link | None:
        """What would be linked for a layout, if it is known without linking anything."""
        return self._images.order(variant, layout)

    def build(self, meanwhile: Callable[[Workers], None] | None = None) -> None:
        """Build all variants of the study; see `Kernels.build`."""
        self.kernels.build(self._seen, meanwhile)

    def link(self) -> None:
        """Link every layout of the study's trials that is booted."""
        self._images.link(self._linked())

    def train_ready(self, events: Events, workers: Workers) -> None:
        """Train on kernels that are built, for those that are not."""
        self.kernels.train_ready(self._seen, events, workers)

    def link_ready(self, events: Events, workers: Workers) -> None:
        """Link what can be linked of the kernels that are built, without training on one."""
        ready = [trial for trial in self._linked() if trial.layout.named != PROFILE]
        replace(self._images, events=events, workers=workers).link(ready)

    def find(self) -> int:
        """Take what the caches hold and make nothing; returns how many images are missing."""
        self.kernels.find()
        return len(self._images.find(self._linked()))

    def objects(self, variant: Variant) -> int:
        """How many objects its kernel is expected to have; 0 when nobody knows."""
        return make_recipe(variant, self.prepared.source_of(variant)).objects

    def _linked(self) -> list[Trial]:
        """Trials that need an image: all but those that are replayed and not checked."""
        design = self.prepared.study.design
        return [
            trial
            for trial in self.prepared.trials
            if not design.replays(trial.layout) or trial.layout_number <= CHECKED
        ]

    def _calls(self, kernel: Kernel) -> str:
        names = [workload.name for workload in self.prepared.train]
        return call_lines(self._profiles.counts(kernel, self._seen, names), kernel)
