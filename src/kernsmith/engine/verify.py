# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether the kernels of a study work, by oracles.

Tests and watchdogs are code of the kernel itself, so what boots here is a *twin* of the kernel:
the same source, compiler, flags and profiles, with the oracle's config symbols besides. What the
baseline's twin does wrong as well is no fault of a variant's.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kernsmith.engine.events import Events
from kernsmith.engine.forge import Forge
from kernsmith.engine.making import Build, Reorder, build, reorder
from kernsmith.engine.oracles import WORDS, Findings, Oracle, count
from kernsmith.engine.prepare import Prepared
from kernsmith.engine.workers import LocalWorkers, Progress, Work, Workers
from kernsmith.errors import KernsmithError
from kernsmith.guest.workloads import Workload
from kernsmith.kernel.artifact import Kernel, stored_kernel
from kernsmith.kernel.recipe import StepProfile, make_recipe
from kernsmith.machine import Job, Machine, find_machine, run_once
from kernsmith.machine.ktap import Case
from kernsmith.study import Variant

# A kernel with watchdogs takes many times as long.
_BOOT_SECONDS = 1200.0
# Its unit tests run while it boots: then the least that a guest can do.
_LEAST = "null-syscall"


@dataclass(frozen=True)
class Verified:
    """What an oracle says of one variant.

    kernel: the key of the twin that was asked; empty if there is none. passed, failed, skipped: how
    many tests, or of an oracle without tests, workloads and reports. new: failures that the
    baseline does not have. reason: why there is no answer; empty when there is one.
    """

    variant: str
    oracle: str
    kernel: str = ""
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    new: tuple[Case, ...] = ()
    reason: str = ""
    seconds: float = 0.0

    @property
    def works(self) -> bool:
        """Whether it was asked, and has done nothing wrong that the baseline does right."""
        return not self.new and not self.reason


def verify(
    prepared: Prepared,
    forge: Forge,
    oracles: Sequence[Oracle],
    folder: Path,
    events: Events,
    workers: Workers | None = None,
) -> list[Verified]:
    """Ask each oracle about each variant that was built, the baseline first.

    folder: for the consoles, one folder for each boot.
    """
    workers = workers or LocalWorkers()
    settings = {"time_limit": _BOOT_SECONDS}
    machine = find_machine("tcg", prepared.study.cpu, settings)
    answers = []
    for oracle in oracles:
        known: frozenset[str] = frozenset()
        for variant in prepared.variants:
            if forge.kernel(variant) is None:
                continue
            began = time.monotonic()
            try:
                twin = _twin(prepared, forge, variant, oracle, events, workers)
                found = _ask(twin, oracle, _workloads(prepared, oracle), machine,
                             folder / oracle.name / variant.name, events)  # fmt: skip
            except KernsmithError as error:
                answers.append(Verified(variant.name, oracle.name, reason=str(error)))
                continue
            answer = _answer(variant, oracle, twin, found, known, time.monotonic() - began)
            if variant == prepared.variants[0]:
                known = frozenset(case.name for case in answer.new)
                answer = replace(answer, new=(), reason=answer.reason)
            answers.append(answer)
    return answers


def _answer(
    variant: Variant,
    oracle: Oracle,
    twin: Kernel,
    found: Sequence[Findings],
    known: frozenset[str],
    seconds: float,
) -> Verified:
    cases = [case for each in found for case in each.cases]
    new = {case.name: case for each in found for case in each.failures if case.name not in known}
    bad = "; ".join(each.ended_badly for each in found if each.ended_badly)
    return Verified(
        variant.name, oracle.name, twin.key, *count(cases), tuple(new.values()), bad, seconds
    )


def _workloads(prepared: Prepared, oracle: Oracle) -> tuple[Workload, ...]:
    """What runs on a twin: one round of each."""
    from kernsmith.guest.workloads import load_catalogue

    chosen = load_catalogue().select([_LEAST]) if oracle.tests else prepared.workloads
    return tuple(replace(each, rounds=1, warmup=0) for each in chosen)


def _ask(
    twin: Kernel,
    oracle: Oracle,
    workloads: Sequence[Workload],
    machine: Machine,
    folder: Path,
    events: Events,
) -> list[Findings]:
    found = []
    for number, workload in enumerate(workloads):
        events.progress("workloads", number, len(workloads))
        job = Job(workload, folder / workload.name, words=WORDS, modules=twin.guest_archive)
        found.append(oracle.read(run_once(machine, twin.vmlinux, job), workload.name))
    return found


def _twin(
    prepared: Prepared,
    forge: Forge,
    variant: Variant,
    oracle: Oracle,
    events: Events,
    workers: Workers,
) -> Kernel:
    """The kernel with the oracle's config symbols besides, built if it is not in the store."""
    compiled, order = _compiled(forge, variant)
    with_oracle = replace(compiled, options=(*compiled.options, *oracle.options))
    source = prepared.source_of(variant)
    recipe = make_recipe(with_oracle, source, _compiling(forge.profiles(compiled)))

    def say(value: object) -> None:
        if isinstance(value, Progress):
            events.progress("objects", value.done, value.total)

    events.stage(f"{oracle.name}: {variant.name}")
    key = workers.one(Work(build, (Build(recipe, (), alone=False),)), say)
    if order is not None:
        key = workers.one(Work(reorder, (Reorder(key, order),)), say)
    twin = stored_kernel(key)
    assert twin is not None
    return twin


def _compiled(forge: Forge, variant: Variant) -> tuple[Variant, Path | None]:
    """The variant without the steps behind its compilation, and the order that one of them has
    given its functions. What BOLT has rewritten is asked as it was before: its profile fits one
    kernel only."""
    order = None
    while variant.trainer is not None:
        last = forge.profiles(variant)[-1]
        if last.kind.compiles:
            break
        if last.kind.relinks:
            (order,) = last.files
        variant = variant.trainer
    return variant, order


def _compiling(profiles: Sequence[StepProfile]) -> tuple[StepProfile, ...]:
    return tuple(profile for profile in profiles if profile.kind.compiles)
