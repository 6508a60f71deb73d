# SPDX-License-Identifier: GPL-2.0-or-later
"""Run the trials of a study that the ledger does not hold yet, and record each when it ends."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from kernsmith.engine.events import Events
from kernsmith.engine.prepare import Prepared
from kernsmith.engine.sessions import Ran, Visit, in_sessions
from kernsmith.engine.trial_rows import (
    Bootable,
    Rows,
    boot_row,
    run_row,
    settled,
    settles,
)
from kernsmith.engine.workers import LocalWorkers, Workers
from kernsmith.ledger import Ledger, RunRow, TrialRow
from kernsmith.machine import Boot, Job, Machine
from kernsmith.machine.console import with_console
from kernsmith.machine.protocol import Carried
from kernsmith.store import new_consoles
from kernsmith.study import Trial

# How often a trial that another process holds is looked at again.
_POLL_SECONDS = 0.5


def finished_trials(rows: Rows, machine: Machine, ledger: Ledger) -> set[Trial]:
    """Trials whose run is in the ledger already."""
    runs = ledger.runs(row.digest for row in rows.values())
    done = {digest for digest, run in runs.items() if settles(run, machine)}
    return {trial for trial, row in rows.items() if row.digest in done}


def open_trials(rows: Rows, machine: Machine, ledger: Ledger, events: Events) -> list[Trial]:
    """What has no run yet, in plan order; of trials with one row the first."""
    first: dict[str, Trial] = {}
    for trial, row in rows.items():
        first.setdefault(row.digest, trial)
    finished = finished_trials(rows, machine, ledger)
    todo = [trial for trial in first.values() if trial not in finished]
    if finished:
        events.note(f"{len(first) - len(todo)} of {len(first)} trials are in the ledger already")
    return todo


def in_passes(
    todo: Sequence[Trial],
    one_pass: Callable[[Sequence[Trial]], list[Trial]],
    rows: Rows,
    ledger: Ledger,
    events: Events,
) -> None:
    """Until nothing is left: one_pass tries each once, and returns what other processes hold."""
    left = one_pass(todo)
    if left:
        holders = "; ".join(ledger.holders(rows[trial].digest for trial in left))
        events.note(
            f"waiting for {len(left)} trials that another process is running"
            f"{f' ({holders})' if holders else ''}"
        )
    while left:
        time.sleep(_POLL_SECONDS)
        left = one_pass(left)


def run_trials(
    prepared: Prepared,
    forge: Bootable,
    rows: Rows,
    ledger: Ledger,
    events: Events,
    workers: Workers | None = None,
) -> None:
    """Boot what has no run yet, in plan order, several at once where the machine allows it."""
    todo = open_trials(rows, prepared.machine, ledger, events)
    if not todo:
        return
    if isinstance(prepared.machine, Carried):  # which goes through a folder: `engine.batches`
        events.note(f"{len(todo)} trials have no run yet: kernsmith run prepares them")
        return
    events.stage(f"run {len(todo)} trials on {prepared.machine.name}")
    work = _Work(prepared, forge, rows, ledger, events, workers or LocalWorkers(), len(todo))
    in_passes(todo, work.one_pass, rows, ledger, events)


def visits_of(
    prepared: Prepared, forge: Bootable, todo: Sequence[Trial], folder: Path
) -> list[Visit[Trial]]:
    """In plan order; trials of one block that boot the same image and the same guest share a
    session, or all of them, where the machine takes turns. folder: of sessions."""
    machine = prepared.machine
    visits: dict[tuple[int, Path | int, str], list[Trial]] = {}
    images: dict[tuple[int, Path | int, str], Path] = {}
    for trial in todo:
        image = forge.image(trial.variant, trial.layout)
        assert image is not None
        alone: Path | int = trial.position if machine.apart else image
        guest = prepared.workload(trial.workload).content
        key = (trial.block, 0, "") if machine.together else (trial.block, alone, guest)
        visits.setdefault(key, []).append(trial)
        images.setdefault(key, image)
    return [Visit(images[key], folder, tuple(some)) for key, some in visits.items()]


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
    folder: Path = field(default_factory=new_consoles)

    def one_pass(self, todo: Sequence[Trial]) -> list[Trial]:
        """Try each trial once; returns those that another living process is running."""
        self.held.clear()
        machine = self.prepared.machine
        visits = visits_of(self.prepared, self.forge, todo, self.folder / "sessions")
        in_sessions(machine, visits, self._begin, self._ran, self._end_boots, self.workers)
        return sorted(self.held, key=lambda trial: trial.position)

    def _count(self, trial: Trial, run: RunRow) -> None:
        with self.counting:
            self.done += 1
            self.events.progress("trials", self.done, self.total)
        if not run.ok:
            what = f"{trial.variant.name}, {trial.layout}, {trial.workload}"
            self.events.note(f"{run.status}: {what}: {with_console(run.reason, Path(run.console))}")

    def _begin(self, trial: Trial) -> Job | None:
        """Claim a trial; None when it has a run, or another process has it and is not finished."""
        row, machine = self.rows[trial], self.prepared.machine
        if earlier := settled(self.ledger, row.digest, machine):
            self._count(trial, earlier)
            return None
        attempt = self.ledger.claim(row.digest)
        if attempt is None:
            self.held.append(trial)
            return None
        if earlier := settled(self.ledger, row.digest, machine):
            self._count(trial, earlier)
            return None
        self.attempts[trial] = attempt
        folder = self.folder / row.digest[:20] / str(attempt)
        kernel = self.forge.kernel(trial.variant)
        return Job(
            self.prepared.workload_of(trial),
            folder,
            trial.replicate,
            modules=kernel.guest_archive if kernel else None,
            image=self.forge.image(trial.variant, trial.layout) if machine.together else None,
            name=row.digest,
        )

    def _ran(self, visit: Visit[Trial], trial: Trial, ran: Ran) -> None:
        """Record a run as soon as it has ended."""
        row = self.rows[trial]
        boot = self._number(visit, row, ran.outcome.boot)
        attempt = self.attempts[trial]
        run = run_row(row.digest, attempt, ran.started_at, ran.outcome, boot)
        self.ledger.record(run)
        self._count(trial, run)

    def _number(self, visit: Visit[Trial], row: TrialRow, boot: Boot) -> int:
        """The ledger's number of a boot, which its first run records."""
        key = (visit.name, boot.number)
        if key not in self.boots:
            number = self.ledger.record_boot(boot_row(visit.name, row, boot))
            self.boots[key] = (number, boot.wall_seconds is not None)
        return self.boots[key][0]

    def _end_boots(self, visit: Visit[Trial], boots: Sequence[Boot]) -> None:
        for boot in boots:
            number, ended = self.boots.get((visit.name, boot.number), (0, True))
            if not ended and boot.wall_seconds is not None:
                self.ledger.end_boot(number, boot.status, boot.reason, boot.wall_seconds)
