# SPDX-License-Identifier: GPL-2.0-or-later
"""The words of `kernsmith blame --test`: what a good kernel passes, and where it boots."""

from __future__ import annotations

import shlex
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

from kernsmith.errors import UserError
from kernsmith.study import Design, Study

if TYPE_CHECKING:
    from kernsmith.engine.mix_replay import ReplaysMixes
    from kernsmith.engine.mix_tests import MixTest
    from kernsmith.guest.workloads import Workload
    from kernsmith.machine import Machine

BOOT, KUNIT, SELFTESTS = "boot", "kunit", "selftests"
LEAST = "null-syscall"
"""What boots and unit tests run, once: the least that a guest can do."""


def read_test(words: tuple[str, ...]) -> tuple[tuple[Workload, ...], tuple[str, ...]]:
    """The workloads that a test consists of, or the command; one of both is empty.

    Raises:
        UserError: it is neither.
    """
    from kernsmith.guest.workloads import UnknownWorkload, load_catalogue

    if words in ((BOOT,), (KUNIT,), (SELFTESTS,)):
        (least,) = load_catalogue().select([LEAST])
        return (replace(least, rounds=1, warmup=0),), ()
    try:
        return load_catalogue().including(words).select(words), ()
    except UnknownWorkload as error:
        command = _command(words[0]) if len(words) == 1 else ()
        if command and shutil.which(command[0]):
            return (), command
        raise UserError(
            f"--test takes {BOOT}, {KUNIT}, {SELFTESTS}, workloads, or one command, and "
            f"{error.name!r} is none that can be started: {error}"
        ) from None


def _command(text: str) -> tuple[str, ...]:
    """The words of a command. Raises UserError: a quote has no end."""
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise UserError(f"--test {text!r} is no command: {str(error).lower()}") from None


def _selftests(study: Study) -> Workload:
    """The selftests of the source that both kernels are of."""
    from kernsmith.guest.own import read_own_workload
    from kernsmith.kernel.selftests import compile_selftests
    from kernsmith.kernel.source import resolve_source
    from kernsmith.paths import sources

    if not study.source:
        raise UserError(f"--test {SELFTESTS}: give --source, from which they are compiled")
    source = resolve_source(study.source, sources())
    found = read_own_workload(compile_selftests(source, lambda said: None).workload)
    return replace(found, rounds=1, warmup=0)


def _machine(study: Study) -> Machine:
    """Where mixed kernels boot.

    Raises:
        UserError: it boots none, or has no such metric.
    """
    from kernsmith.machine import booting_machines, find_machine

    machine, metric = (
        find_machine(study.machine, study.cpu, dict(study.settings)),
        study.design.metric,
    )
    if machine.images != "kernel":
        raise UserError(
            f"blame mixes the objects of kernels that boot, and the machine {machine.name} runs "
            f"programs: allowed are {booting_machines()}"
        )
    known = [each.name for each in machine.metrics]
    if metric and metric not in known:
        raise UserError(
            f"the machine {machine.name} has no metric {metric!r}: allowed are {', '.join(known)}"
        )
    return machine


def replayed_measures(study: Study, workloads: tuple[Workload, ...]) -> ReplaysMixes:
    """What measures the shares of objects.

    Raises:
        UserError: the machine of the study writes no traces.
    """
    machine, design = _machine(study), study.design
    if not machine.profiles:
        raise UserError(f"--top replays traces, and the machine {machine.name} writes none")
    return _replays(machine, workloads, design, design.layouts)


def _replays(
    machine: Machine, workloads: tuple[Workload, ...], design: Design, layouts: int
) -> ReplaysMixes:
    from kernsmith.engine.mix_replay import ReplaysMixes

    return ReplaysMixes(machine, workloads, design.metric, layouts, design.seed)


def mix_test(
    study: Study,
    workloads: tuple[Workload, ...],
    command: tuple[str, ...],
    name: str,
    repeat: int,
) -> MixTest:
    """What tells a good kernel from a bad one.

    workloads, command: of `read_test`. name: the words of --test. repeat: of each run.
    """
    from kernsmith.engine.metric_test import ChangesMetric
    from kernsmith.engine.mix_tests import RunsCommand, RunsWorkloads
    from kernsmith.engine.oracles import BOOT_SECONDS
    from kernsmith.engine.unit_tests import PassesUnitTests
    from kernsmith.machine import find_machine

    if command:
        return RunsCommand(command, repeat)
    machine, design = _machine(study), study.design
    if name == KUNIT:
        machine = find_machine(study.machine, study.cpu, {"time_limit": BOOT_SECONDS})
        return PassesUnitTests(machine, workloads[0], repeat)
    if name == SELFTESTS:
        machine = find_machine(study.machine, study.cpu, {"time_limit": BOOT_SECONDS})
        return PassesUnitTests(machine, _selftests(study), repeat, SELFTESTS)
    if not design.metric:
        return RunsWorkloads(machine, workloads, name, repeat)
    modelled = {each.name for each in machine.metrics if each.meaning == "modelled"}
    replayed = machine.profiles and design.metric in modelled
    return ChangesMetric(
        machine, workloads, design.metric, name, design.layouts, design.most_layouts, design.seed,
        _replays(machine, workloads, design, design.most_layouts) if replayed else None,
    )  # fmt: skip
