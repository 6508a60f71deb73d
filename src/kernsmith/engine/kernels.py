# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernels of a study: built in the order in which their profiles allow, and remembered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from kernsmith.engine.build_plan import PlannedKernel, identity, plan_kernels
from kernsmith.engine.events import Events
from kernsmith.engine.failures import Failures
from kernsmith.engine.lab import TraceFailed
from kernsmith.engine.making import (
    Build,
    Reorder,
    Rewrite,
    WorkloadRefused,
    build,
    reorder,
    rewrite,
)
from kernsmith.engine.prepare import Prepared
from kernsmith.engine.profiles import Profiles
from kernsmith.engine.training import Seen, TrainingFailed
from kernsmith.engine.workers import Progress, Work, Workers
from kernsmith.errors import KernsmithError, ProcessFailed
from kernsmith.guest.workloads import Workload
from kernsmith.kernel import bolt
from kernsmith.kernel.artifact import Kernel, stored_kernel
from kernsmith.kernel.build import BuildFailed, find_kernel
from kernsmith.kernel.config import ConfigRefused
from kernsmith.kernel.link import LinkFailed
from kernsmith.kernel.recipe import Recipe, StepProfile, make_recipe
from kernsmith.kernel.toolchain import find_toolchain
from kernsmith.machine.protocol import Driven
from kernsmith.study import Variant


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
    workers: Workers
    built: dict[str, Kernel] = field(default_factory=dict)
    profiles: dict[str, tuple[StepProfile, ...]] = field(default_factory=dict)

    def kernel(self, variant: Variant) -> Kernel | None:
        """The kernel of a variant, if it could be built."""
        return self.built.get(identity(variant))

    def failure(self, variant: Variant) -> str:
        """Why a variant could not be built; empty if it was, or was not tried."""
        return self.failures.get((identity(variant), ""), "")

    def files(self, variant: Variant) -> tuple[Path, ...]:
        """The profile of the last of a variant's steps that has one; empty without such a step."""
        profiles = self.profiles.get(identity(variant), ())
        return profiles[-1].files if profiles else ()

    def build(self, seen: Seen, meanwhile: Callable[[Workers], None] | None = None) -> None:
        """Build all variants of the study. The baseline must build; others may fail.

        seen: called with (kernel, workload, outcome, start time) of each training run.
        meanwhile: what to do while a kernel is compiled; see `Workers.one`.

        Raises:
            BuildFailed, ConfigRefused, WorkloadRefused, TrainingFailed: of the baseline.
        """
        needed_first = {kernel.key for kernel in plan_kernels(self.prepared.variants[:1])}
        for planned in plan_kernels(self.prepared.variants):
            if planned.key in self.built or (planned.key, "") in self.failures:
                continue
            try:
                self._build(planned, seen, meanwhile)
            except (
                BuildFailed, ConfigRefused, LinkFailed, ProcessFailed, TraceFailed, TrainerMissing,
                TrainingFailed, WorkloadRefused,
            ) as error:  # fmt: skip
                self.failures.note((planned.key, ""), error)
                if planned.key in needed_first:
                    raise
                self.events.note(f"{planned.variant.name} is left out: {error}")

    def train_ready(self, seen: Seen, events: Events, workers: Workers) -> None:
        """Train on kernels that are built, for those that are not."""
        profiles = replace(self.trained, events=events, workers=workers)
        for planned in plan_kernels(self.prepared.variants):
            variant, trainer = planned.variant, planned.variant.trainer
            base = self.kernel(trainer) if trainer else None
            if base is not None and planned.key not in self.built:
                profiles.begin(variant, base, seen)

    def find(self) -> None:
        """Take the kernels that the caches hold, and make nothing."""
        for planned in plan_kernels(self.prepared.variants):
            variant = planned.variant
            profiles = self._found_profiles(variant)
            if profiles is None:
                continue
            kernel = self._found(variant, profiles)
            if kernel is not None:
                self.built[planned.key] = kernel
                self.profiles[planned.key] = profiles

    def _found_profiles(self, variant: Variant) -> tuple[StepProfile, ...] | None:
        trainer = variant.trainer
        if trainer is None:
            return ()
        base = self.kernel(trainer)
        last = self.trained.find(variant, base) if base else None
        return (*self.profiles[identity(trainer)], last) if last else None

    def _build(
        self, planned: PlannedKernel, seen: Seen, meanwhile: Callable[[Workers], None] | None
    ) -> None:
        variant = planned.variant
        profiles = self._made_profiles(variant, seen)
        match self._linked_anew(variant, profiles):
            case Reorder() as asked:
                work: Work[str] = Work(reorder, (asked,))
            case Rewrite() as asked:
                work = Work(rewrite, (asked,))
            case None:
                recipe = self._recipe(variant, profiles)
                machine = self.prepared.machine
                needed = machine.needed if isinstance(machine, Driven) else ()
                asked_for = Build(
                    recipe, self._workloads(), planned.alone, machine.name, tuple(needed)
                )
                work = Work(build, (asked_for,))
        if self._found(variant, profiles) is None:
            self.events.stage(f"kernel {variant.name}")
            key = self.workers.one(work, self._say, meanwhile)
        else:
            key = self.workers.one(work, self._say)
        kernel = stored_kernel(key)
        assert kernel is not None
        self._warn(variant, kernel)
        self.built[planned.key] = kernel
        self.profiles[planned.key] = profiles

    def _found(self, variant: Variant, profiles: tuple[StepProfile, ...]) -> Kernel | None:
        """The kernel, if it was made before."""
        if asked := self._linked_anew(variant, profiles):
            return asked.found()
        return find_kernel(self._recipe(variant, profiles))

    def _linked_anew(
        self, variant: Variant, profiles: tuple[StepProfile, ...]
    ) -> Reorder | Rewrite | None:
        """How it is made of the kernel that has the objects; None for what is compiled."""
        trainer = variant.trainer
        if trainer is None or not profiles or profiles[-1].kind.compiles:
            return None
        key, (file,) = self.built[identity(trainer)].key, profiles[-1].files
        if profiles[-1].kind.relinks:
            return Reorder(key, file)
        toolchain = find_toolchain(variant.compiler, variant.linker, variant.arch)
        return Rewrite(key, file, toolchain.tool(bolt.PROGRAM))

    def _warn(self, variant: Variant, kernel: Kernel) -> None:
        """Say what the check of a kernel's registers has found (`kernsmith.kernel.simd`)."""
        if beyond := kernel.provenance.get("simd", {}).get("beyond"):
            self.events.note(
                f"{variant.name} uses vector or floating-point registers in functions for which "
                f"its source has no assembly, and no flag is the reason: {', '.join(beyond)}; "
                "programs that run on it may get wrong results if these are not between "
                "kernel_fpu_begin() and kernel_fpu_end()"
            )

    def _say(self, value: object) -> None:
        assert isinstance(value, Progress)
        self.events.progress("objects", value.done, value.total)

    def _made_profiles(self, variant: Variant, seen: Seen) -> tuple[StepProfile, ...]:
        trainer = variant.trainer
        if trainer is None:
            return ()
        base = self.kernel(trainer)
        if base is None:
            missing = TrainerMissing(self.failure(trainer))
            missing.of_host = self.failures.is_of_host((identity(trainer), ""))
            raise missing
        return (*self.profiles[identity(trainer)], self.trained.make(variant, base, seen))

    def _recipe(self, variant: Variant, profiles: tuple[StepProfile, ...]) -> Recipe:
        return make_recipe(variant, self.prepared.source_of(variant), profiles)

    def _workloads(self) -> tuple[Workload, ...]:
        """What runs on every kernel: also what is trained on, if something is trained."""
        steps = (step for variant in self.prepared.variants for step in variant.steps)
        train = self.prepared.train if any(not step.files for step in steps) else ()
        return tuple(dict.fromkeys((*self.prepared.workloads, *train)))
