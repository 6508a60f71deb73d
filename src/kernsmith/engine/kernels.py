# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernels of a study: built in the order in which their profiles allow, and remembered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from kernsmith.engine.build_plan import PlannedKernel, identity, plan_kernels
from kernsmith.engine.events import Events
from kernsmith.engine.prepare import Prepared
from kernsmith.engine.profiles import Profiles
from kernsmith.engine.training import Seen, TrainingFailed
from kernsmith.errors import KernsmithError, ProcessFailed, UserError
from kernsmith.guest.workloads import Workload
from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.build import BuildFailed, build_kernel, find_kernel
from kernsmith.kernel.config import ConfigRefused, parse_config
from kernsmith.kernel.recipe import Recipe, StepProfile, make_recipe
from kernsmith.study import Variant

Failures = dict[tuple[str, str], str]
"""Why something could not be made, by a kernel's identity and a layout of it; the layout is empty
for the kernel itself."""


class WorkloadRefused(UserError):
    """A workload that a kernel cannot run: its config lacks what the workload needs."""


class TrainerMissing(KernsmithError):
    """A kernel that cannot be built, because what it is to be trained on could not be."""


@dataclass
class Kernels:
    """Builds what a study needs.

    built, profiles: by the identity of a variant. failures: what could not be built, and why.
    """

    prepared: Prepared
    events: Events
    trained: Profiles
    failures: Failures
    built: dict[str, Kernel] = field(default_factory=dict)
    profiles: dict[str, tuple[StepProfile, ...]] = field(default_factory=dict)

    def kernel(self, variant: Variant) -> Kernel | None:
        """The kernel of a variant, if it could be built."""
        return self.built.get(identity(variant))

    def failure(self, variant: Variant) -> str:
        """Why a variant could not be built; empty if it was, or was not tried."""
        return self.failures.get((identity(variant), ""), "")

    def files(self, variant: Variant) -> tuple[Path, ...]:
        """The profile that the last step of a variant was built with; empty without steps."""
        profiles = self.profiles.get(identity(variant), ())
        return profiles[-1].files if profiles else ()

    def build(self, seen: Seen) -> None:
        """Build all variants of the study. The baseline must build; others may fail.

        seen: called with (kernel, workload, outcome, start time) of each training run.

        Raises:
            BuildFailed, ConfigRefused, WorkloadRefused, TrainingFailed: of the baseline.
        """
        needed_first = {kernel.key for kernel in plan_kernels(self.prepared.variants[:1])}
        for planned in plan_kernels(self.prepared.variants):
            if planned.key in self.built or (planned.key, "") in self.failures:
                continue
            try:
                self._build(planned, seen)
            except (
                BuildFailed, ConfigRefused, ProcessFailed, TrainerMissing, TrainingFailed,
                WorkloadRefused,
            ) as error:  # fmt: skip
                self.failures[planned.key, ""] = str(error)
                if planned.key in needed_first:
                    raise
                self.events.note(f"{planned.variant.name} is left out: {error}")

    def find(self) -> None:
        """Take the kernels that the caches hold, and make nothing."""
        for planned in plan_kernels(self.prepared.variants):
            variant = planned.variant
            profiles: tuple[StepProfile, ...] = ()
            if variant.steps:
                found = self._found_profiles(variant)
                if found is None:
                    continue
                profiles = found
            kernel = find_kernel(self._recipe(variant, profiles))
            if kernel is not None:
                self.built[planned.key] = kernel
                self.profiles[planned.key] = profiles

    def _found_profiles(self, variant: Variant) -> tuple[StepProfile, ...] | None:
        base = self.kernel(variant.trainer)
        last = self.trained.find(variant, base) if base else None
        return (*self.profiles[identity(variant.trainer)], last) if last else None

    def _build(self, planned: PlannedKernel, seen: Seen) -> None:
        variant = planned.variant
        profiles = self._made_profiles(variant, seen) if variant.steps else ()
        recipe = self._recipe(variant, profiles)
        kernel = find_kernel(recipe)
        if kernel is not None:
            config = kernel.folder / "config"
            self._check_needs(variant, parse_config(config.read_text(encoding="utf-8")))
        else:
            self.events.stage(f"kernel {variant.name}")
            kernel = build_kernel(
                recipe,
                on_progress=lambda done, of: self.events.progress("objects", done, of),
                check=partial(self._check_needs, variant),
                alone=planned.alone,
            )
        self.built[planned.key] = kernel
        self.profiles[planned.key] = profiles

    def _made_profiles(self, variant: Variant, seen: Seen) -> tuple[StepProfile, ...]:
        base = self.kernel(variant.trainer)
        if base is None:
            raise TrainerMissing(self.failure(variant.trainer))
        return (*self.profiles[identity(variant.trainer)], self.trained.make(variant, base, seen))

    def _recipe(self, variant: Variant, profiles: tuple[StepProfile, ...]) -> Recipe:
        return make_recipe(variant, self.prepared.source_of(variant), profiles)

    def _check_needs(self, variant: Variant, symbols: Mapping[str, str]) -> None:
        for workload in self._workloads():
            if missing := workload.missing(symbols):
                raise WorkloadRefused(
                    f"the workload {workload.name} needs {', '.join(missing)}, which the config "
                    f"{variant.config!r} of {variant.name!r} does not set"
                )

    def _workloads(self) -> list[Workload]:
        """What runs on every kernel: also what is trained on, if something is trained."""
        steps = (step for variant in self.prepared.variants for step in variant.steps)
        train = self.prepared.train if any(not step.files for step in steps) else ()
        return list(dict.fromkeys((*self.prepared.workloads, *train)))
