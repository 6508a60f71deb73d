# SPDX-License-Identifier: GPL-2.0-or-later
"""Run a study: plan → kernels → layouts → trials → ledger → verdicts. Goes on where it stopped."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from os import cpu_count

from kernsmith import paths
from kernsmith.engine.events import Events
from kernsmith.engine.forge import Forge
from kernsmith.engine.prepare import Prepared, prepare
from kernsmith.engine.verdicts import Measured, StudyResult, judge
from kernsmith.guest.workloads import Workload
from kernsmith.ledger import Ledger, RunRow, TrialRow, now
from kernsmith.machine import Boot, Outcome
from kernsmith.study import Layout, Study, Trial, digest_of
from kernsmith.study.file import write_study

# How often a trial that another process holds is looked at again.
_POLL_SECONDS = 0.5


def run_study(study: Study, ledger: Ledger, events: Events) -> StudyResult:
    """Do everything that a study asks for and that the ledger does not hold yet.

    Failed trials and variants are left out of the verdicts and listed in the result.

    Raises:
        UserError: a word of the study means nothing.
        BuildFailed: the baseline kernel does not build.
    """
    started = time.monotonic()
    prepared = prepare(study, events)
    forge = Forge(prepared, events)
    forge.build(
        lambda workload, outcome: _record_training(prepared, forge, ledger, workload, outcome)
    )
    forge.link()
    rows = plan_rows(prepared, forge)
    planned = [trial for trial in prepared.trials if trial in rows]
    plan = [(rows[trial], trial.variant.name, trial.block) for trial in planned]
    ledger.record_study(study.digest, study.name, write_study(study), plan)
    _run_trials(prepared, forge, rows, ledger, events)
    runs = ledger.runs(row.digest for row in rows.values())
    measured = [
        Measured(trial, rows[trial].digest, runs.get(rows[trial].digest)) for trial in planned
    ]
    return judge(prepared, forge, measured, time.monotonic() - started)


def plan_rows(prepared: Prepared, forge: Forge) -> dict[Trial, TrialRow]:
    """The ledger's row for each trial whose image could be made."""
    fingerprint = dict(prepared.machine.fingerprint())
    return {
        trial: _row(prepared, forge, trial, fingerprint)
        for trial in prepared.trials
        if forge.image(trial.variant, trial.layout) is not None
    }


def _row(
    prepared: Prepared, forge: Forge, trial: Trial, fingerprint: dict[str, object]
) -> TrialRow:
    kernel = forge.kernel(trial.variant)
    assert kernel is not None
    workload = prepared.workload(trial.workload)
    conditions = {
        "machine": fingerprint,
        "rounds": workload.rounds,
        "warmup": workload.warmup,
        # What a noisy machine measured for one study is no outcome of another study's trial.
        "study": None if prepared.machine.exact else [prepared.study.digest, trial.position],
    }
    fields = {
        "kernel": kernel.key,
        "layout": str(trial.layout),
        "workload": trial.workload,
        "machine": trial.machine,
        "cpu": trial.cpu,
        "replicate": trial.replicate,
    }
    digest = digest_of(fields | {"conditions": conditions})
    return TrialRow(digest=digest, variant=trial.variant.name, conditions=conditions, **fields)  # type: ignore[arg-type]


def _run_trials(
    prepared: Prepared,
    forge: Forge,
    rows: dict[Trial, TrialRow],
    ledger: Ledger,
    events: Events,
) -> None:
    """Run what has no run yet, in plan order, several at once where the machine allows it."""
    first = {row.digest: trial for trial, row in reversed(rows.items())}
    there = ledger.runs(first)
    todo = sorted((t for d, t in first.items() if d not in there), key=lambda t: t.position)
    if there:
        events.note(f"{len(there)} of {len(first)} trials are in the ledger already")
    if not todo:
        return
    events.stage(f"run {len(todo)} trials on {prepared.machine.name}")
    total = len(todo)
    with ThreadPoolExecutor(cpu_count() if prepared.machine.exact else 1) as pool:
        try:
            while todo:
                todo = _one_pass(prepared, forge, rows, ledger, events, pool, todo, total)
                if todo:
                    time.sleep(_POLL_SECONDS)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _one_pass(
    prepared: Prepared,
    forge: Forge,
    rows: dict[Trial, TrialRow],
    ledger: Ledger,
    events: Events,
    pool: ThreadPoolExecutor,
    todo: Sequence[Trial],
    total: int,
) -> list[Trial]:
    """Try each trial once; returns those that another living process is running."""
    jobs = {pool.submit(_run_one, prepared, forge, rows[t], t, ledger): t for t in todo}
    held = []
    done = total - len(todo)
    for job in as_completed(jobs):
        run = job.result()
        if run is None:
            held.append(jobs[job])
            continue
        done += 1
        events.progress("trials", done, total)
        if not run.ok:
            trial = jobs[job]
            what = f"{trial.variant.name}, {trial.layout}, {trial.workload}"
            events.note(f"{run.status}: {what}: {run.reason}; console: {run.console}")
    return sorted(held, key=lambda trial: trial.position)


def _run_one(
    prepared: Prepared, forge: Forge, row: TrialRow, trial: Trial, ledger: Ledger
) -> RunRow | None:
    """Run a trial and record it; None when another process has it and is not finished."""
    attempt = ledger.claim(row.digest)
    if attempt is None:
        return None
    if attempt > 1 and (earlier := ledger.runs([row.digest]).get(row.digest)):
        return earlier
    image = forge.image(trial.variant, trial.layout)
    assert image is not None
    started = now()
    folder = paths.cache_root() / "runs" / row.digest[:20]
    outcome = prepared.machine.run(Boot(image, prepared.workload(trial.workload), folder))
    run = _run_row(row.digest, attempt, started, outcome)
    ledger.record(run)
    return run


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


def _record_training(
    prepared: Prepared, forge: Forge, ledger: Ledger, workload: Workload, outcome: Outcome
) -> None:
    """A training run on an exact machine is the baseline's trial in the default layout, too."""
    if not prepared.machine.exact or not outcome.ok:
        return
    for trial in prepared.trials:
        same = (trial.layout, trial.workload, trial.replicate) == (Layout(), workload.name, 0)
        if not same or trial.variant.profile or forge.kernel(trial.variant) is None:
            continue
        if trial.variant.trainer.identity() != prepared.variants[0].trainer.identity():
            continue
        row = _row(prepared, forge, trial, dict(prepared.machine.fingerprint()))
        ledger.add_trial(row)
        if row.digest not in ledger.runs([row.digest]):
            attempt = ledger.claim(row.digest)
            if attempt is not None:
                ledger.record(_run_row(row.digest, attempt, now(), outcome))
