# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether the kernels of a study work, by oracles.

Tests and watchdogs are code of the kernel itself, so what boots here is a *twin* of the kernel:
the same source, compiler, flags and profiles, with the oracle's config symbols besides. What the
baseline's twin does wrong as well is no fault of a variant's.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from kernsmith.document import FaultView, VerifiedView
from kernsmith.engine.events import Events
from kernsmith.engine.forge import Forge
from kernsmith.engine.making import Build, Reorder, build, reorder
from kernsmith.engine.oracles import BOOT_SECONDS, WORDS, Findings, Oracle, count
from kernsmith.engine.prepare import Prepared
from kernsmith.engine.workers import LocalWorkers, Progress, Work, Workers
from kernsmith.errors import KernsmithError, UserError
from kernsmith.guest.own import read_own_workload
from kernsmith.guest.workloads import Workload, load_catalogue
from kernsmith.kernel.artifact import FOLDER_LETTERS, Kernel, stored_kernel
from kernsmith.kernel.recipe import make_recipe
from kernsmith.kernel.selftests import compile_selftests
from kernsmith.machine import Job, Machine, find_machine, run_once
from kernsmith.study import Variant

# Its unit tests run while it boots: then the least that a guest can do.
_LEAST = "null-syscall"


def check_boots(prepared: Prepared) -> None:
    """That a study's kernels can be asked.

    Raises:
        UserError: its machine runs programs.
    """
    if prepared.machine.images != "kernel":
        raise UserError(
            f"an oracle boots kernels, and the machine {prepared.machine.name} runs programs"
        )


def verify(
    prepared: Prepared,
    forge: Forge,
    oracles: Sequence[Oracle],
    folder: Path,
    events: Events,
    workers: Workers | None = None,
) -> list[VerifiedView]:
    """Ask each oracle about each variant that was built, the baseline first: what it does wrong is
    counted, and new in nobody. Folds are left out: they are what is judged, and not what is used.

    folder: for the consoles, in a folder for each oracle and twin.
    """
    workers = workers or LocalWorkers()
    settings = {"time_limit": BOOT_SECONDS}
    machine = find_machine("tcg", prepared.study.cpu, settings)
    answers = []
    for oracle in oracles:
        known: frozenset[str] = frozenset()
        for variant in prepared.variants:
            if variant.without or forge.kernel(variant) is None:
                continue
            began = time.monotonic()
            try:
                twin = _twin(prepared, forge, variant, oracle, events, workers)
                place = folder / oracle.name / twin.key[:FOLDER_LETTERS]
                workloads = _workloads(prepared, oracle, variant, events)
                found = _ask(twin, oracle, workloads, machine, place, events)
            except KernsmithError as error:
                answers.append(_none(variant, oracle, str(error), time.monotonic() - began))
                continue
            answer = _answer(variant, oracle, twin, found, known, time.monotonic() - began)
            if variant == prepared.variants[0]:
                known = frozenset(fault.name for fault in answer.new)
                answer = replace(answer, new=())
            answers.append(answer)
    return answers


def _answer(
    variant: Variant,
    oracle: Oracle,
    twin: Kernel,
    found: Sequence[Findings],
    known: frozenset[str],
    seconds: float,
) -> VerifiedView:
    cases = [case for each in found for case in each.cases]
    faults = (FaultView(case.name, case.said) for each in found for case in each.failures)
    new = {fault.name: fault for fault in faults if fault.name not in known}
    bad = "; ".join(each.ended_badly for each in found if each.ended_badly)
    passed, failed, skipped = count(cases)
    return VerifiedView(
        variant.name, oracle.name, twin.key, passed, failed, skipped, tuple(new.values()), bad,
        seconds,
    )  # fmt: skip


def _none(variant: Variant, oracle: Oracle, reason: str, seconds: float) -> VerifiedView:
    return VerifiedView(variant.name, oracle.name, "", 0, 0, 0, (), reason, seconds)


def _workloads(
    prepared: Prepared, oracle: Oracle, variant: Variant, events: Events
) -> tuple[Workload, ...]:
    """What runs on a twin: one round of each."""
    chosen = prepared.workloads
    if oracle.selftests:
        compiled = compile_selftests(prepared.source_of(variant), events.note)
        chosen = (read_own_workload(compiled.workload),)
    elif oracle.tests:
        chosen = load_catalogue().select([_LEAST])
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
    recipe = make_recipe(with_oracle, source, forge.profiles(compiled))
    recipe = replace(recipe, objects=0)  # nobody has counted those of the oracle

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
