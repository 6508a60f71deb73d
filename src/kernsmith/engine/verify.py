# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether the kernels of a study work, by oracles.

Tests and watchdogs are code of the kernel itself, so what boots here is a *twin* of the kernel:
the same source, compiler, flags and profiles, with the oracle's config symbols besides. What the
baseline's twin does wrong as well is no fault of a variant's.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kernsmith.document import VerifiedView
from kernsmith.engine.events import Events
from kernsmith.engine.forge import Forge
from kernsmith.engine.making import Build, Reorder, build, reorder
from kernsmith.engine.oracle_answers import Heard, answers
from kernsmith.engine.oracle_boots import Question, answered
from kernsmith.engine.oracles import BOOT_SECONDS, Oracle
from kernsmith.engine.prepare import Prepared
from kernsmith.engine.workers import LocalWorkers, Progress, Work, Workers
from kernsmith.errors import DiskFull, KernsmithError, UserError
from kernsmith.guest.own import read_own_workload
from kernsmith.guest.workloads import Workload, load_catalogue
from kernsmith.kernel.artifact import FOLDER_LETTERS, Kernel, stored_kernel
from kernsmith.kernel.recipe import make_recipe
from kernsmith.kernel.selftests import compile_selftests
from kernsmith.machine import Outcome, booting_machines, find_machine
from kernsmith.study import Variant
from kernsmith.study.study import DEFAULT_CPU

# Its unit tests run while it boots: then the least that a guest can do.
_LEAST = "null-syscall"


def check_boots(prepared: Prepared) -> None:
    """That a study's kernels can be asked.

    Raises:
        UserError: its machine runs programs.
    """
    if prepared.machine.images != "kernel":
        raise UserError(
            f"an oracle boots kernels, and the machine {prepared.machine.name} runs programs: "
            f"allowed are {booting_machines()}"
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
    baseline = prepared.variants[0]
    found: list[VerifiedView] = []
    for oracle in oracles:
        asked = [
            _asked(prepared, forge, variant, oracle, events, workers)
            for variant in prepared.variants
            if not variant.without and forge.kernel(variant) is not None
        ]
        boots = _boots(prepared, oracle, asked, folder, events, workers)
        heard = {each.variant: _heard(oracle, each, boots, baseline) for each in asked}
        found += answers(oracle, heard.pop(baseline, None), tuple(heard.values()))
    return found


@dataclass(frozen=True)
class _Asked:
    """A variant that an oracle is asked about. twin: None where there is none, and why not.
    workloads: what runs on it. seconds: what making it has taken."""

    variant: Variant
    twin: Kernel | None
    reason: str
    workloads: tuple[Workload, ...]
    seconds: float


def _asked(
    prepared: Prepared,
    forge: Forge,
    variant: Variant,
    oracle: Oracle,
    events: Events,
    workers: Workers,
) -> _Asked:
    began = time.monotonic()
    try:
        twin = _twin(prepared, forge, variant, oracle, events, workers)
        workloads = _workloads(prepared, oracle, variant, events)
    except DiskFull:
        raise
    except KernsmithError as error:
        return _Asked(variant, None, str(error), (), time.monotonic() - began)
    return _Asked(variant, twin, "", workloads, time.monotonic() - began)


_Boots = Mapping[tuple[str, str], Outcome | KernsmithError]
"""By the key of a twin and the name of a workload."""


def _boots(
    prepared: Prepared,
    oracle: Oracle,
    asked: Sequence[_Asked],
    folder: Path,
    events: Events,
    workers: Workers,
) -> _Boots:
    """All twins with all that runs on them; two variants with one twin share its boots."""
    machine = find_machine("tcg", prepared.study.cpu or DEFAULT_CPU, {"time_limit": BOOT_SECONDS})
    questions = {}
    for each in asked:
        for workload in each.workloads:
            assert each.twin is not None
            place = folder / oracle.name / each.twin.key[:FOLDER_LETTERS] / workload.name
            question = Question(machine, each.twin.key, workload, place)
            questions[each.twin.key, workload.name] = question
    events.stage(f"{oracle.name}: {len(questions)} boots")

    def told(done: int) -> None:
        events.progress("boots", done, len(questions))

    ended = answered(list(questions.values()), workers, told)
    return {key: ended[question] for key, question in questions.items()}


def _heard(oracle: Oracle, asked: _Asked, boots: _Boots, baseline: Variant) -> Heard:
    variant = asked.variant
    if asked.twin is None:
        return Heard(variant.name, "", reason=asked.reason, seconds=asked.seconds)
    ended = [boots[asked.twin.key, workload.name] for workload in asked.workloads]
    outcomes = [outcome for outcome in ended if isinstance(outcome, Outcome)]
    return Heard(
        variant.name,
        asked.twin.key,
        tuple(
            oracle.read(outcome, workload.name)
            for outcome, workload in zip(ended, asked.workloads, strict=True)
            if isinstance(outcome, Outcome)
        ),
        next((str(error) for error in ended if isinstance(error, KernsmithError)), ""),
        asked.seconds + sum(outcome.wall_seconds for outcome in outcomes),
        variant.contents == baseline.contents,
    )


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


def _twin(
    prepared: Prepared,
    forge: Forge,
    variant: Variant,
    oracle: Oracle,
    events: Events,
    workers: Workers,
) -> Kernel:
    """The kernel with the oracle's config symbols besides, built if it is not in the store; the
    kernel itself, if there are none."""
    itself = forge.kernel(variant)
    if itself is not None and not oracle.options:
        return itself
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
