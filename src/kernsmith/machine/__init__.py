# SPDX-License-Identifier: GPL-2.0-or-later
"""Boot a kernel, run a workload, return metrics. Each kind of machine is a module with `KIND`."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from kernsmith.errors import KernsmithError, UserError
from kernsmith.machine.protocol import Boot, Job, Kind, Machine, Outcome, Session
from kernsmith.study.study import SELF

__all__ = [
    "Boot", "Job", "Kind", "Machine", "MachineFailed", "Outcome", "Session", "booting_machines",
    "find_machine", "machine_kinds", "run_once", "run_to_judge",
]  # fmt: skip


def machine_kinds() -> dict[str, Kind]:
    """All kinds of machines, by name."""
    kinds: dict[str, Kind] = {}
    for found in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{found.name}")
        kind = getattr(module, "KIND", None)
        if isinstance(kind, Kind):
            kinds[kind.name] = kind
    return kinds


def find_machine(name: str, cpu: str, settings: Mapping[str, Any] | None = None) -> Machine:
    """The machine of this name.

    name: the name of a kind, with a colon and an argument where the kind takes one.
    cpu: the CPU model, where the machine simulates one.
    settings: what `[machine.settings]` of the study file holds.

    Raises:
        UserError: no such kind, CPU model or setting; the message says what is allowed.
    """
    word, _, argument = name.partition(":")
    kinds = machine_kinds()
    if word not in kinds:
        allowed = ", ".join(sorted(kind.usage for kind in kinds.values()))
        raise UserError(f"there is no machine {name!r}: allowed are {allowed}")
    kind = kinds[word]
    if (":" in kind.usage) != bool(argument) or name.endswith(":"):
        raise UserError(f"there is no machine {name!r}: write {kind.usage}")
    try:
        table = kind.table.model_validate(dict(settings or {}))
    except ValidationError as error:
        raise UserError(_wrong_setting(kind, error)) from None
    return kind.open(argument, cpu, table)


def booting_machines() -> str:
    """How machines are called that boot kernels as soon as they are asked to, for sentences."""
    kinds = (kind for kind in machine_kinds().values() if kind.images == "kernel")
    return ", ".join(sorted(kind.usage for kind in kinds if kind.name != SELF))


def _wrong_setting(kind: Kind, error: ValidationError) -> str:
    first = error.errors()[0]
    key = ".".join(map(str, first["loc"]))
    if first["type"] == "extra_forbidden":
        allowed = ", ".join(kind.table.model_fields) or "none"
        return f"machine.settings: {kind.name} has no setting {key}: allowed are {allowed}"
    return f"machine.settings.{key}: {first['msg'][0].lower()}{first['msg'][1:]}"


class MachineFailed(KernsmithError):
    """A run that the machine itself has ended: it says nothing of the kernel."""

    of_host = True


def run_to_judge(machine: Machine, image: Path, job: Job) -> Outcome:
    """The same as `run_once`, where the end is to be told of the kernel.

    Raises:
        MachineFailed: the machine has ended it, and not the kernel.
    """
    ran = run_once(machine, image, job)
    if ran.lost:
        raise MachineFailed(
            f"{job.workload.name}: the machine {machine.name} failed, which says nothing of the "
            f"kernel: {ran.reason}; console: {ran.console}; start the same command again"
        )
    return ran


def run_once(machine: Machine, image: Path, job: Job) -> Outcome:
    """A session with one run in it."""
    with machine.open(image, job.folder) as session:
        return session.run(job)
