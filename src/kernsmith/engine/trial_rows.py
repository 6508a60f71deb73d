# SPDX-License-Identifier: GPL-2.0-or-later
"""The ledger's rows of a study's trials, and of what came of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

from kernsmith.engine.making import Link
from kernsmith.engine.prepare import Prepared
from kernsmith.engine.replay import every_of
from kernsmith.guest.workloads import Workload
from kernsmith.kernel.artifact import Kernel
from kernsmith.ledger import BootRow, Ledger, RunRow, TrialRow
from kernsmith.ledger.least import with_least
from kernsmith.ledger.rows import REPLAYED
from kernsmith.machine import Boot, Machine, Outcome
from kernsmith.machine.protocol import HANG, PANIC, Unattended
from kernsmith.study import Layout, Trial, Variant, digest_of
from kernsmith.study.places import short_names

Rows = Mapping[Trial, TrialRow]

_REPLAY_VERSION = 3
"""Of how layouts are placed and replayed; a change that moves figures makes other trials."""

_SAMPLE_VERSION = 2
"""The same of which windows stand for a trace."""

CHECKED = 2
"""So many random layouts of each variant, the first ones, are booted, too, where others are not."""


class Bootable(Protocol):
    """Where the kernels of a study's trials are found; None for those that could not be made."""

    def kernel(self, variant: Variant) -> Kernel | None:
        """The kernel of a variant."""
        ...

    def image(self, variant: Variant, layout: Layout) -> Path | None:
        """What boots: the kernel in a layout."""
        ...

    def order(self, variant: Variant, layout: Layout) -> Link | None:
        """What would be linked, if it is known without linking anything."""
        ...


def trial_rows(prepared: Prepared, forge: Bootable) -> dict[Trial, TrialRow]:
    """The ledger's row for each trial whose image could be made, or whose layout can be replayed,
    in plan order."""
    machine = cache(lambda vmlinux: dict(prepared.machine.fingerprint(vmlinux)))
    replay = _replay_version(prepared)
    # What a noisy machine measured for one study is no outcome of another's trial.
    study = None if prepared.machine.exact else prepared.digest
    rows = {}
    for trial in prepared.trials:
        kernel = forge.kernel(trial.variant)
        replays = prepared.study.design.replays(trial.layout)
        order = _order_of(forge, trial, replays=replays)
        if kernel is None or order is None:
            continue
        rows[trial] = _row(
            kernel,
            prepared.workload_of(trial),
            # Replicates on an exact machine are one run: the same trial.
            replace(trial, replicate=0) if prepared.machine.exact else trial,
            {
                "machine": machine(kernel.vmlinux),
                "order": order,
                "study": study and [study, trial.position],
                **({REPLAYED: replay} if replays else {}),
            },
        )
    return rows


def _replay_version(prepared: Prepared) -> str | int:
    """What figures of replays depend on, besides all that those of boots do."""
    cpu = prepared.machine.cpu
    measured = len(prepared.workloads)
    every = every_of(prepared.study.design.every, cpu, measured) if cpu else 1
    sample = f"{_REPLAY_VERSION}, 1 of {every} windows, {_SAMPLE_VERSION}"
    return _REPLAY_VERSION if every == 1 else sample


def _order_of(forge: Bootable, trial: Trial, *, replays: bool) -> str | None:
    """The word for an order that tells it from others by its content; a seed is only a word."""
    if replays:
        link = forge.order(trial.variant, trial.layout)
        return None if link is None else link.name
    image = forge.image(trial.variant, trial.layout)
    if image is None:
        return None
    # So is the folder of a relinked image called.
    return "" if trial.layout == Layout() else image.parent.name


def checking_rows(rows: Rows) -> dict[Trial, TrialRow]:
    """Of the replayed trials that are checked by booting the same: the row of the boot's trial."""
    return {
        trial: booted(row)
        for trial, row in rows.items()
        if row.replayed and trial.layout_number <= CHECKED
    }


def booted(row: TrialRow) -> TrialRow:
    """The same trial with a boot in place of a replay."""
    conditions = row.booted_conditions
    return replace(row, conditions=conditions, digest=_digest(vars(row), conditions))


@dataclass(frozen=True)
class _Default:
    """What a run in the default layout that no study planned has in common with a trial."""

    layout: Layout
    machine: str
    cpu: str
    replicate: int = 0


def default_row(
    prepared: Prepared, machine: Machine, kernel: Kernel, workload: Workload
) -> TrialRow:
    """The trial of a kernel in its default layout, whether the study has planned it or not."""
    cpu = short_names(prepared.study).get(prepared.study.cpu, prepared.study.cpu)
    conditions = {"machine": dict(machine.fingerprint(kernel.vmlinux)), "order": "", "study": None}
    return _row(kernel, workload, _Default(Layout(), machine.name, cpu), conditions)


def _row(
    kernel: Kernel, workload: Workload, trial: Trial | _Default, conditions: dict[str, Any]
) -> TrialRow:
    conditions |= {"rounds": workload.rounds, "warmup": workload.warmup}
    if workload.content:
        conditions["content"] = workload.content
    if workload.vcpus > 1:
        conditions["vcpus"] = workload.vcpus
    if workload.memory:
        conditions["memory"] = workload.memory
    if workload.boot:
        conditions["boot"] = workload.boot
    fields: dict[str, Any] = {
        "kernel": kernel.key,
        "layout": str(trial.layout),
        "workload": workload.name,
        "machine": trial.machine,
        "cpu": trial.cpu,
        "replicate": trial.replicate,
    }
    variant = kernel.provenance["variant"]["name"]
    digest = _digest(fields, conditions)
    return TrialRow(digest=digest, variant=variant, conditions=conditions, **fields)


def _digest(fields: Mapping[str, Any], conditions: Mapping[str, Any]) -> str:
    """A CPU model may have any name; what is in it is among the conditions."""
    names = ("kernel", "layout", "workload", "machine", "replicate")
    return digest_of({n: fields[n] for n in names} | {"cpu": None, "conditions": conditions})


def record_default(
    prepared: Prepared,
    machine: Machine,
    ledger: Ledger,
    kernel: Kernel,
    workload: Workload,
    outcome: Outcome,
    started: str,
) -> None:
    """Record a run that trained or wrote a trace: on an exact machine it is its kernel's trial in
    the default layout."""
    if not machine.exact:
        return
    row = default_row(prepared, machine, kernel, workload)
    ledger.add_trial(row)
    attempt = ledger.claim(row.digest)
    if attempt is not None and settled(ledger, row.digest, machine) is None:
        boot = ledger.record_boot(boot_row(uuid4().hex, row, outcome.boot))
        ledger.record(run_row(row.digest, attempt, started, outcome, boot))


def runs_of(rows: Rows, runs: Mapping[str, RunRow]) -> list[RunRow | None]:
    """The run of each trial, in their order, with what several of them say together.

    runs: by the digests of trials.
    """
    return with_least(
        [
            ((t.variant.name, t.layout, t.workload), t.replicate, runs.get(row.digest))
            for t, row in rows.items()
        ]
    )


def settled(ledger: Ledger, digest: str, machine: Machine) -> RunRow | None:
    """The run that makes another one pointless, if there is one."""
    run = ledger.runs([digest]).get(digest)
    return run if run is not None and settles(run, machine) else None


def settles(run: RunRow, machine: Machine) -> bool:
    """Whether a trial needs no further run.

    A kernel that panics on an exact machine panics again; a time limit that passed or an emulator
    that was killed may have been this host's fault, and is tried again by the next command, unless
    it takes a person to end a hang.
    """
    if run.status == HANG:
        return isinstance(machine, Unattended) and machine.hangs_stay
    return run.ok or (machine.exact and run.status == PANIC)


def run_row(trial: str, attempt: int, started: str, outcome: Outcome, boot: int) -> RunRow:
    return RunRow(
        trial=trial,
        attempt=attempt,
        status=outcome.status,
        reason=outcome.reason,
        console=str(outcome.console),
        started_at=started,
        wall_seconds=outcome.wall_seconds,
        metrics=outcome.metrics,
        provenance=outcome.provenance,
        boot=boot,
    )


def boot_row(session: str, row: TrialRow, boot: Boot) -> BootRow:
    order = row.conditions["order"]
    program = [Path(word).name for word in boot.command[:1]]
    return BootRow(
        session=session,
        machine=row.machine,
        image=f"{row.kernel}/{order}" if order else row.kernel,
        kernel=row.kernel,
        layout=row.layout,
        # Which emulator it was, the conditions say by its content.
        command=(*program, *boot.command[1:]),
        console=str(boot.console),
        started_at=boot.started_at,
        wall_seconds=boot.wall_seconds,
        status=boot.status,
        reason=boot.reason,
    )
