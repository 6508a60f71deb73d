# SPDX-License-Identifier: GPL-2.0-or-later
"""Run the trials of a study that the ledger does not hold yet, and record each when it ends."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import Any, Protocol
from uuid import uuid4

from kernsmith import paths
from kernsmith.engine.events import Events
from kernsmith.engine.prepare import Prepared
from kernsmith.engine.sessions import Ran, Visit, in_sessions
from kernsmith.engine.workers import LocalWorkers, Workers
from kernsmith.guest.workloads import Workload
from kernsmith.kernel.artifact import Kernel
from kernsmith.ledger import BootRow, Ledger, RunRow, TrialRow
from kernsmith.machine import Boot, Job, Machine, Outcome
from kernsmith.machine.protocol import PANIC
from kernsmith.study import Layout, Trial, Variant, digest_of
from kernsmith.study.places import short_names

# How often a trial that another process holds is looked at again.
_POLL_SECONDS = 0.5

Rows = Mapping[Trial, TrialRow]


class Bootable(Protocol):
    """Where the kernels of a study's trials are found; None for those that could not be made."""

    def kernel(self, variant: Variant) -> Kernel | None:
        """The kernel of a variant."""
        ...

    def image(self, variant: Variant, layout: Layout) -> Path | None:
        """What boots: the kernel in a layout."""
        ...


def trial_rows(prepared: Prepared, forge: Bootable) -> dict[Trial, TrialRow]:
    """The ledger's row for each trial whose image could be made, in plan order."""
    conditions = dict(prepared.machine.fingerprint())
    # What a noisy machine measured for one study is no outcome of another's trial.
    study = None if prepared.machine.exact else prepared.digest
    rows = {}
    for trial in prepared.trials:
        kernel, image = forge.kernel(trial.variant), forge.image(trial.variant, trial.layout)
        if kernel is None or image is None:
            continue
        # The folder of a relinked image is named by its order's content; a seed is only a word.
        order = "" if trial.layout == Layout() else image.parent.name
        rows[trial] = _row(
            kernel,
            prepared.workload(trial.workload),
            # Replicates on an exact machine are one run: the same trial.
            replace(trial, replicate=0) if prepared.machine.exact else trial,
            {
                "machine": conditions,
                "order": order,
                "study": study and [study, trial.position],
            },
        )
    return rows


@dataclass(frozen=True)
class _Default:
    """What a training run has in common with a trial."""

    layout: Layout
    machine: str
    cpu: str
    replicate: int = 0


def _row(
    kernel: Kernel, workload: Workload, trial: Trial | _Default, conditions: dict[str, Any]
) -> TrialRow:
    conditions |= {"rounds": workload.rounds, "warmup": workload.warmup}
    fields: dict[str, Any] = {
        "kernel": kernel.key,
        "layout": str(trial.layout),
        "workload": workload.name,
        "machine": trial.machine,
        "cpu": trial.cpu,
        "replicate": trial.replicate,
    }
    # A CPU model may have any name; what is in it is among the conditions.
    digest = digest_of(fields | {"cpu": None, "conditions": conditions})
    variant = kernel.provenance["variant"]["name"]
    return TrialRow(digest=digest, variant=variant, conditions=conditions, **fields)


def record_training(
    prepared: Prepared,
    ledger: Ledger,
    kernel: Kernel,
    workload: Workload,
    outcome: Outcome,
    started: str,
) -> None:
    """Record a training run: on an exact machine it is its kernel's trial in the default layout."""
    if not prepared.trainer.exact:
        return
    cpu = short_names(prepared.study).get(prepared.study.cpu, prepared.study.cpu)
    like = _Default(Layout(), prepared.trainer.name, cpu)
    conditions = {
        "machine": dict(prepared.trainer.fingerprint()),
        "order": "",
        "study": None,
    }
    row = _row(kernel, workload, like, conditions)
    ledger.add_trial(row)
    attempt = ledger.claim(row.digest)
    if attempt is not None and _settled(ledger, row.digest, prepared.trainer) is None:
        boot = ledger.record_boot(_boot_row(uuid4().hex, row, outcome.boot))
        ledger.record(_run_row(row.digest, attempt, started, outcome, boot))


def finished_trials(prepared: Prepared, forge: Bootable, ledger: Ledger) -> set[Trial]:
    """Trials whose run is in the ledger already."""
    rows = trial_rows(prepared, forge)
    runs = ledger.runs(row.digest for row in rows.values())
    done = {digest for digest, run in runs.items() if _settles(run, prepared.machine)}
    return {trial for trial, row in rows.items() if row.digest in done}


def run_trials(
    prepared: Prepared,
    forge: Bootable,
    rows: Rows,
    ledger: Ledger,
    events: Events,
    workers: Workers | None = None,
) -> None:
    """Run what has no run yet, in plan order, several at once where the machine allows it."""
    first: dict[str, Trial] = {}
    for trial, row in rows.items():
        first.setdefault(row.digest, trial)
    finished = finished_trials(prepared, forge, ledger)
    todo = [trial for trial in first.values() if trial not in finished]
    if finished:
        events.note(f"{len(first) - len(todo)} of {len(first)} trials are in the ledger already")
    if not todo:
        return
    events.stage(f"run {len(todo)} trials on {prepared.machine.name}")
    work = _Work(prepared, forge, rows, ledger, events, workers or LocalWorkers(), len(todo))
    todo = work.one_pass(todo)
    if todo:
        events.note(f"waiting for {len(todo)} trials that another process is running")
    while todo:
        time.sleep(_POLL_SECONDS)
        todo = work.one_pass(todo)


@dataclass
class _Work:
    """Trials on their way to the ledger.

    boots: the ledger's numbers of the boots that runs referred to, by session and number in it;
        False beside those whose end the ledger does not know yet.
    attempts: the numbers of the claims. held: what other processes were running in this pass.
    folder: of all consoles. It is nobody else's: each ledger counts attempts for itself.
    """

    prepared: Prepared
    forge: Bootable
    rows: Rows
    ledger: Ledger
    events: Events
    workers: Workers
    total: int
    done: int = 0
    boots: dict[tuple[str, int], tuple[int, bool]] = field(default_factory=dict)
    attempts: dict[Trial, int] = field(default_factory=dict)
    held: list[Trial] = field(default_factory=list)
    counting: Lock = field(default_factory=Lock)
    folder: Path = field(default_factory=lambda: paths.cache_root() / "runs" / uuid4().hex[:12])

    def one_pass(self, todo: Sequence[Trial]) -> list[Trial]:
        """Try each trial once; returns those that another living process is running."""
        self.held.clear()
        visits, machine = self._visits(todo), self.prepared.machine
        in_sessions(machine, visits, self._begin, self._ran, self._end_boots, self.workers)
        return sorted(self.held, key=lambda trial: trial.position)

    def _count(self, trial: Trial, run: RunRow) -> None:
        with self.counting:
            self.done += 1
            self.events.progress("trials", self.done, self.total)
        if not run.ok:
            what = f"{trial.variant.name}, {trial.layout}, {trial.workload}"
            self.events.note(f"{run.status}: {what}: {run.reason}; console: {run.console}")

    def _visits(self, todo: Sequence[Trial]) -> list[Visit[Trial]]:
        """In plan order; trials of one block that boot the same image share a session."""
        visits: dict[tuple[int, Path | int], list[Trial]] = {}
        images = {}
        for trial in todo:
            image = self.forge.image(trial.variant, trial.layout)
            assert image is not None
            alone = self.prepared.machine.apart
            key = (trial.block, trial.position if alone else image)
            visits.setdefault(key, []).append(trial)
            images[key] = image
        folder = self.folder / "sessions"
        return [Visit(images[key], folder, tuple(some)) for key, some in visits.items()]

    def _begin(self, trial: Trial) -> Job | None:
        """Claim a trial; None when it has a run, or another process has it and is not finished."""
        row, machine = self.rows[trial], self.prepared.machine
        if earlier := _settled(self.ledger, row.digest, machine):
            self._count(trial, earlier)
            return None
        attempt = self.ledger.claim(row.digest)
        if attempt is None:
            self.held.append(trial)
            return None
        if earlier := _settled(self.ledger, row.digest, machine):
            self._count(trial, earlier)
            return None
        self.attempts[trial] = attempt
        folder = self.folder / row.digest[:20] / str(attempt)
        return Job(self.prepared.workload(trial.workload), folder, trial.replicate)

    def _ran(self, visit: Visit[Trial], trial: Trial, ran: Ran) -> None:
        """Record a run as soon as it has ended."""
        row = self.rows[trial]
        boot = self._number(visit, row, ran.outcome.boot)
        attempt = self.attempts[trial]
        run = _run_row(row.digest, attempt, ran.started_at, ran.outcome, boot)
        self.ledger.record(run)
        self._count(trial, run)

    def _number(self, visit: Visit[Trial], row: TrialRow, boot: Boot) -> int:
        """The ledger's number of a boot, which its first run records."""
        key = (visit.name, boot.number)
        if key not in self.boots:
            number = self.ledger.record_boot(_boot_row(visit.name, row, boot))
            self.boots[key] = (number, boot.wall_seconds is not None)
        return self.boots[key][0]

    def _end_boots(self, visit: Visit[Trial], boots: Sequence[Boot]) -> None:
        for boot in boots:
            number, ended = self.boots.get((visit.name, boot.number), (0, True))
            if not ended and boot.wall_seconds is not None:
                self.ledger.end_boot(number, boot.status, boot.reason, boot.wall_seconds)


def _boot_row(session: str, row: TrialRow, boot: Boot) -> BootRow:
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


def _settled(ledger: Ledger, digest: str, machine: Machine) -> RunRow | None:
    """The run that makes another one pointless, if there is one."""
    run = ledger.runs([digest]).get(digest)
    return run if run is not None and _settles(run, machine) else None


def _settles(run: RunRow, machine: Machine) -> bool:
    """Whether a trial needs no further run.

    A kernel that panics on an exact machine panics again; a time limit that passed or an emulator
    that was killed may have been this host's fault, and is tried again by the next command.
    """
    return run.ok or (machine.exact and run.status == PANIC)


def _run_row(trial: str, attempt: int, started: str, outcome: Outcome, boot: int) -> RunRow:
    return RunRow(
        trial=trial,
        attempt=attempt,
        status=outcome.status,
        reason=outcome.reason,
        console=str(outcome.console),
        started_at=started,
        wall_seconds=outcome.wall_seconds,
        metrics=outcome.metrics,
        boot=boot,
    )
