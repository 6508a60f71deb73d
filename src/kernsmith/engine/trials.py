# SPDX-License-Identifier: GPL-2.0-or-later
"""Run the trials of a study that the ledger does not hold yet, and record each when it ends."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from os import cpu_count
from pathlib import Path
from typing import Any, Protocol

from kernsmith import paths
from kernsmith.engine.events import Events
from kernsmith.engine.prepare import Prepared
from kernsmith.guest.workloads import Workload
from kernsmith.kernel.artifact import Kernel
from kernsmith.ledger import Ledger, RunRow, TrialRow, now
from kernsmith.machine import Boot, Machine, Outcome
from kernsmith.machine.protocol import PANIC
from kernsmith.study import Layout, Trial, Variant, digest_of
from kernsmith.threads import threads

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
                # What a noisy machine measured for one study is no outcome of another's trial.
                "study": None
                if prepared.machine.exact
                else [prepared.study.digest, trial.position],
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
    # The name of a CPU model may be the path of a file; what is in it is among the conditions.
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
    like = _Default(Layout(), prepared.trainer.name, prepared.study.cpu)
    conditions = {
        "machine": dict(prepared.trainer.fingerprint()),
        "order": "",
        "study": None,
    }
    row = _row(kernel, workload, like, conditions)
    ledger.add_trial(row)
    attempt = ledger.claim(row.digest)
    if attempt is not None and _settled(ledger, row.digest, prepared.trainer) is None:
        ledger.record(_run_row(row.digest, attempt, started, outcome))


def finished_trials(prepared: Prepared, forge: Bootable, ledger: Ledger) -> set[Trial]:
    """Trials whose run is in the ledger already."""
    rows = trial_rows(prepared, forge)
    runs = ledger.runs(row.digest for row in rows.values())
    done = {digest for digest, run in runs.items() if _settles(run, prepared.machine)}
    return {trial for trial, row in rows.items() if row.digest in done}


def run_trials(
    prepared: Prepared, forge: Bootable, rows: Rows, ledger: Ledger, events: Events
) -> None:
    """Run what has no run yet, in plan order, several at once where the machine allows it."""
    first: dict[str, Trial] = {}
    for trial, row in rows.items():
        first.setdefault(row.digest, trial)
    there = finished_trials(prepared, forge, ledger)
    todo = [trial for trial in first.values() if trial not in there]
    if there:
        events.note(f"{len(first) - len(todo)} of {len(first)} trials are in the ledger already")
    if not todo:
        return
    events.stage(f"run {len(todo)} trials on {prepared.machine.name}")
    work = _Work(prepared, forge, rows, ledger, events, len(todo))
    with threads(cpu_count() or 1 if prepared.machine.exact else 1) as pool:
        todo = work.one_pass(pool, todo)
        if todo:
            events.note(f"waiting for {len(todo)} trials that another process is running")
        while todo:
            time.sleep(_POLL_SECONDS)
            todo = work.one_pass(pool, todo)


@dataclass
class _Work:
    """Trials on their way to the ledger."""

    prepared: Prepared
    forge: Bootable
    rows: Rows
    ledger: Ledger
    events: Events
    total: int
    done: int = 0

    def one_pass(self, pool: ThreadPoolExecutor, todo: Sequence[Trial]) -> list[Trial]:
        """Try each trial once; returns those that another living process is running."""
        jobs = {pool.submit(self._run_one, trial): trial for trial in todo}
        held = []
        for job in as_completed(jobs):
            run = job.result()
            if run is None:
                held.append(jobs[job])
                continue
            self.done += 1
            self.events.progress("trials", self.done, self.total)
            if not run.ok:
                trial = jobs[job]
                what = f"{trial.variant.name}, {trial.layout}, {trial.workload}"
                self.events.note(f"{run.status}: {what}: {run.reason}; console: {run.console}")
        return sorted(held, key=lambda trial: trial.position)

    def _run_one(self, trial: Trial) -> RunRow | None:
        """Run a trial and record it; None when another process has it and is not finished."""
        row, machine = self.rows[trial], self.prepared.machine
        if earlier := _settled(self.ledger, row.digest, machine):
            return earlier
        attempt = self.ledger.claim(row.digest)
        if attempt is None:
            return None
        if earlier := _settled(self.ledger, row.digest, machine):
            return earlier
        image = self.forge.image(trial.variant, trial.layout)
        assert image is not None
        started = now()
        # Attempts are counted by each ledger for itself.
        own = digest_of(self.ledger.url)[:8]
        folder = paths.cache_root() / "runs" / own / row.digest[:20] / str(attempt)
        outcome = machine.run(Boot(image, self.prepared.workload(trial.workload), folder))
        run = _run_row(row.digest, attempt, started, outcome)
        self.ledger.record(run)
        return run


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


def _run_row(trial: str, attempt: int, started: str, outcome: Outcome) -> RunRow:
    return RunRow(
        trial=trial,
        attempt=attempt,
        status=outcome.status,
        reason=outcome.reason,
        console=str(outcome.console),
        started_at=started,
        wall_seconds=outcome.wall_seconds,
        metrics=outcome.metrics,
        provenance={"command": list(outcome.command)},
    )
