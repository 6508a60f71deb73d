# SPDX-License-Identifier: GPL-2.0-or-later
"""The profiles that a variant's steps hand to its build: trained, or brought by the user.

Beside a kernel that was trained on stand the counts of each workload, what was made of them (named
by content: it stays what a kernel was built with), and a note for each training of what that gave.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from kernsmith.engine.build_plan import identity
from kernsmith.engine.events import Events
from kernsmith.engine.evidence import BRANCHES, Evidence, Left, evidence_for
from kernsmith.engine.order_step import search_order
from kernsmith.engine.prepare import Prepared
from kernsmith.engine.traces import trace_tag
from kernsmith.engine.training import Seen, TrainingFailed, train
from kernsmith.engine.workers import Workers
from kernsmith.errors import DiskFull, UserError
from kernsmith.files import copy_file, locked, write_text
from kernsmith.guest.workloads import Workload
from kernsmith.kernel.artifact import Kernel, file_digest
from kernsmith.kernel.recipe import StepProfile
from kernsmith.kernel.toolchain import find_toolchain
from kernsmith.profile import (
    BranchCounts,
    find_profile_maker,
    is_exact,
)
from kernsmith.profile.layout import usable_order
from kernsmith.study import Step, Variant, digest_of
from kernsmith.study.steps import StepKind, find_step_kind


@dataclass(frozen=True)
class Profiles:
    """Makes and finds the profile of the last step of a variant that has one.

    Whoever asks has built the kernel of the steps before it.
    """

    prepared: Prepared
    events: Events
    workers: Workers

    def find(self, variant: Variant, base: Kernel) -> StepProfile | None:
        """What the same training gave before; None when there is none, or the user brings one."""
        step = _trained(variant)
        if step.files:
            return None
        kind = find_step_kind(step.kind)
        files = self._ready(base, step)
        return StepProfile(kind, files, step.told) if files else None

    def make(self, variant: Variant, base: Kernel, seen: Seen) -> StepProfile:
        """Train on a kernel, or take the user's files, and store what the build reads.

        Raises:
            TrainingFailed: a workload did not end well.
            UserError: the user's files are no profile of this kind.
        """
        step = _trained(variant)
        kind = find_step_kind(step.kind)
        folder = base.folder / "profiles"
        folder.mkdir(exist_ok=True)
        with locked(folder / "lock"):
            if step.files:
                given = _given(variant, step, base)
                if told := _told(variant, step, base):
                    self.events.note(told)
                return given
            files = self._ready(base, step)
            if not files and kind.relinks:
                files = _store([self._ordered(base, step, folder / "trained.order")], base, kind)
                self._note(base, step, files)
            elif not files:
                files = self._from_counts(variant, step, base, seen)
            return StepProfile(kind, files, step.told)

    def begin(self, variant: Variant, base: Kernel, seen: Seen) -> None:
        """Take the counts that `make` is going to want, as far as the workers get."""
        step = _trained(variant)
        if step.files or find_step_kind(step.kind).relinks or self._ready(base, step):
            return
        folder = base.folder / "profiles"
        folder.mkdir(exist_ok=True)
        # What fails is told when the kernel's turn has come.
        with locked(folder / "lock"), suppress(TrainingFailed):
            evidence = evidence_for(step)
            self._train(base, evidence, seen, step.train, variant.trainer)

    def counts(
        self,
        kernel: Kernel,
        seen: Seen,
        names: Collection[str],
        variant: Variant | None = None,
    ) -> BranchCounts:
        """The merged counts of training workloads on a kernel; each has the same weight.

        names: of the workloads.
        variant: the kernel's; where the study replays its layouts, training writes their traces.
        """
        return self._merged(kernel, BRANCHES, seen, names, variant)

    def _merged(
        self,
        kernel: Kernel,
        evidence: Evidence[Left],
        seen: Seen,
        names: Collection[str],
        variant: Variant | None,
    ) -> Left:
        parts = self._train(kernel, evidence, seen, names, variant)
        return evidence.merge([parts[workload.name] for workload in self._workloads(names)])

    def _ordered(self, base: Kernel, step: Step, target: Path) -> Path:
        """The best order of a kernel's functions for the training workloads."""
        train, trainer = self._workloads(step.train), self.prepared.trainer
        order = search_order(base, train, trainer, self.events, self.workers)
        write_text(target, "".join(f"{name}\n" for name in order))
        return target

    def _from_counts(
        self, variant: Variant, step: Step, base: Kernel, seen: Seen
    ) -> tuple[Path, ...]:
        kind = find_step_kind(step.kind)
        evidence = evidence_for(step)
        counts = self._merged(base, evidence, seen, step.train, variant.trainer)
        self.events.stage(f"profile → {kind.title}")
        toolchain = find_toolchain(variant.compiler, variant.linker, variant.arch)
        stem = base.folder / "profiles/trained"
        try:
            made = find_profile_maker(kind.name).make(counts, base, toolchain, stem)
        except DiskFull:
            raise
        except UserError as error:
            raise TrainingFailed(f"there is no profile for {kind.title}: {error}") from None
        files = _store(made, base, kind)
        evidence.write(counts, counts_beside(files[0], kind, evidence.suffix))
        self._note(base, step, files)
        return files

    def _train(
        self,
        kernel: Kernel,
        evidence: Evidence[Left],
        seen: Seen,
        names: Collection[str],
        variant: Variant | None,
    ) -> dict[str, Left]:
        prepared = self.prepared
        own = identity(variant) if variant else ""
        measured = [each for each in prepared.variants if identity(each) == own]

        def trace_of(workload: Workload) -> str:
            judged = any(each.is_judged_by(workload.name) for each in measured)
            wanted = judged and _replays(prepared, workload)
            return trace_tag(kernel, workload) if wanted else ""

        return train(
            kernel,
            evidence,
            self._workloads(names),
            prepared.trainer,
            self.events,
            seen,
            self.workers,
            trace_of,
        )

    def _workloads(self, names: Collection[str]) -> list[Workload]:
        return [workload for workload in self.prepared.train if workload.name in names]

    def _ready(self, base: Kernel, step: Step) -> tuple[Path, ...]:
        kind = find_step_kind(step.kind)
        names = _noted(self._note_path(base, step)).get(kind.name, ())
        files = tuple(base.folder / "profiles" / name for name in names)
        # Notes of an earlier version have fewer.
        whole = len(files) == len(kind.suffixes)
        return files if whole and all(file.exists() for file in files) else ()

    def _note(self, base: Kernel, step: Step, files: Sequence[Path]) -> None:
        path = self._note_path(base, step)
        noted = _noted(path) | {step.kind: [file.name for file in files]}
        write_text(path, json.dumps(noted))

    def _note_path(self, base: Kernel, step: Step) -> Path:
        """The note of this training: of these workloads on this machine, all or sampled."""
        work = [_amount(workload) for workload in self._workloads(step.train)]
        sampled = [step.period] if step.period else []
        conditions = dict(self.prepared.trainer.fingerprint(base.vmlinux))
        key = digest_of([conditions, work, *sampled])[:16]
        return base.folder / "profiles" / f"{key}.json"


def _trained(variant: Variant) -> Step:
    """The step that a profile is wanted for."""
    step = variant.last_trained
    assert step is not None
    return step


def _given(variant: Variant, step: Step, base: Kernel) -> StepProfile:
    """What the user brings for a step."""
    kind, files = find_step_kind(step.kind), tuple(map(Path, step.files))
    folder = base.folder / "profiles"
    if kind.relinks:
        order = usable_order(files[0], base, folder / "given.order")
        return StepProfile(kind, _store([order], base, kind))
    toolchain = find_toolchain(variant.compiler, variant.linker, variant.arch)
    made = find_profile_maker(kind.name).usable(files, base, toolchain, folder / "given")
    exact = kind.instrument is not None or all(map(is_exact, files))
    told = replace(step.told, unseen_is_cold=step.unseen_is_cold and exact)
    return StepProfile(kind, _store(made, base, kind), told)


def _told(variant: Variant, step: Step, base: Kernel) -> str:
    """What is to be said of that."""
    if find_step_kind(step.kind).relinks:
        return ""
    toolchain = find_toolchain(variant.compiler, variant.linker, variant.arch)
    return find_profile_maker(step.kind).tell(tuple(map(Path, step.files)), base, toolchain)


def _replays(prepared: Prepared, workload: Workload) -> bool:
    """Whether a trace that training writes is one that the study replays."""
    design = prepared.study.design
    return (
        design.layouts_by == "replay"
        and bool(design.layouts)
        and workload in prepared.workloads
        and prepared.trainer == prepared.machine
    )


def _amount(workload: Workload) -> tuple[str | int, ...]:
    own = (workload.content,) if workload.content else ()
    several = (workload.vcpus,) if workload.vcpus > 1 else ()
    memory = (f"{workload.memory} MiB",) if workload.memory else ()
    return workload.name, workload.rounds, workload.warmup, *own, *several, *memory


def _noted(path: Path) -> dict[str, list[str]]:
    """The files of each kind that a training has given, by name; empty when it was not done."""
    try:
        noted: dict[str, list[str]] = json.loads(path.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return {}
    return noted


def counts_beside(file: Path, kind: StepKind, suffix: str = ".counts") -> Path:
    """Where the counts lie that a profile was made from; file: its first."""
    return file.with_name(f"{file.name.removesuffix(kind.suffixes[0])}{suffix}")


def _store(made: Sequence[Path], base: Kernel, kind: StepKind) -> tuple[Path, ...]:
    """Put files where their content says: they stay what the kernel was built with."""
    folder = base.folder / "profiles"
    digests = [file_digest(file) for file in made]
    stem = (digests[0] if len(digests) == 1 else digest_of(digests))[:16]
    stored = []
    for file, suffix in zip(made, kind.suffixes, strict=True):
        target = folder / f"{stem}{suffix}"
        if not target.exists():
            copy_file(file, target)
        stored.append(target)
    return tuple(stored)
