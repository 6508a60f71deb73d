# SPDX-License-Identifier: GPL-2.0-or-later
"""Run a study: plan → kernels → layouts → trials → ledger → verdicts. Goes on where it stopped."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from kernsmith.engine.build_plan import identity
from kernsmith.engine.builds import record_builds
from kernsmith.engine.counted_functions import count_functions
from kernsmith.engine.events import Beside, Clocked, Events
from kernsmith.engine.forge import Forge
from kernsmith.engine.growth import grow, next_number, next_of_replayed
from kernsmith.engine.maker import Maker, open_maker
from kernsmith.engine.prepare import Prepared
from kernsmith.engine.replayed import free_traces, run_replays
from kernsmith.engine.traces import hand_over
from kernsmith.engine.training import Seen
from kernsmith.engine.trial_rows import (
    Bootable,
    Rows,
    checking_rows,
    record_default,
    runs_of,
    trial_rows,
)
from kernsmith.engine.trials import run_trials
from kernsmith.engine.verdicts import Measured, StudyResult, judge, look
from kernsmith.engine.workers import Workers
from kernsmith.guest.workloads import Workload
from kernsmith.kernel.artifact import Kernel
from kernsmith.ledger import Ledger
from kernsmith.machine import Outcome
from kernsmith.machine.protocol import LOST
from kernsmith.study import digest_of, plan_trials
from kernsmith.study.places import without_folders
from kernsmith.study.writing import write_study


def run_study(
    prepared: Prepared,
    ledger: Ledger,
    events: Events,
    workers: Workers | None = None,
    *,
    keep_traces: bool = False,
    by_function: bool = True,
) -> StudyResult:
    """Do everything that a study asks for and that the ledger does not hold yet.

    workers: who builds, links, boots and replays; by default this machine.
    keep_traces: whether traces that layouts were replayed from stay in the store.
    by_function: whether the result is to say which functions make the difference.

    Failed trials and variants are left out of the verdicts and listed in the result.

    Raises:
        UserError: the config cannot be made, or lacks what a workload needs.
        BuildFailed: the baseline kernel does not build.
    """
    began = time.monotonic()
    events = clocked = Clocked(events)
    forge = open_maker(prepared, events, keeping(prepared, ledger), workers)
    meanwhile = _ready(prepared, forge, ledger, events, keep_traces=keep_traces)
    try:
        forge.build(meanwhile)
    finally:
        record_builds(prepared, forge, ledger)

    design = prepared.study.design
    if by_function and not (design.layouts_by == "replay" and (design.layouts or design.until)):
        count_functions(prepared, forge, ledger, events, workers)

    def measure_in(layouts: int) -> list[Measured]:
        if layouts != design.layouts:
            forge.prepared = _in_layouts(prepared, layouts)
        forge.link()
        return measure(forge.prepared, forge, ledger, events, workers, keep_traces=keep_traces)

    def decide(measured: list[Measured], last: bool) -> list[Measured] | None:
        looks = look(forge.prepared, measured)
        for name, decision in looks.items():
            events.decided(name, decision)
        return measured if last or all(each.stop for each in looks.values()) else None

    following = next_of_replayed if design.layouts_by == "replay" else next_number
    measured = grow(design.layouts, design.most_layouts, measure_in, decide, following)
    if design.layouts_by == "replay":
        free_traces(prepared, forge)
        _tell_not_replayed(prepared, measured, forge)
    result = judge(forge.prepared, forge, measured, time.monotonic() - began)
    of_host = (*forge.failures.of_host, *_lost_runs(measured))
    return replace(result, of_host=of_host, steps=clocked.steps())


def keeping(prepared: Prepared, ledger: Ledger) -> Seen:
    """What is done with each boot that trains: its run is recorded, its trace is kept."""

    def seen(kernel: Kernel, workload: Workload, outcome: Outcome, started: str) -> None:
        trainer = prepared.trainer
        record_default(prepared, trainer, ledger, kernel, workload, outcome, started)
        if outcome.ok and outcome.trace is not None:
            hand_over(kernel, workload, trainer, outcome, outcome.trace)

    return seen


def _ready(
    prepared: Prepared, forge: Maker, ledger: Ledger, events: Events, *, keep_traces: bool
) -> Callable[[Workers], None] | None:
    """What can be done of a study while one of its kernels is compiled: training for later ones,
    and the trials of those that are built.

    Nothing where a busy host would be measured, too, or where a layout needs all kernels.
    """
    by_place = prepared.study.design.pairing == "place"
    if not prepared.machine.exact or by_place or not isinstance(forge, Forge):
        return None
    aside = Beside(events)

    def run_ready(workers: Workers) -> None:
        forge.train_ready(aside, workers)
        forge.link_ready(aside, workers)
        rows = trial_rows(prepared, forge)
        ledger.add_trials(rows.values())
        _run(prepared, forge, rows, ledger, aside, workers, keep_traces=keep_traces)

    return run_ready


def _lost_runs(measured: Sequence[Measured]) -> Iterator[str]:
    """Runs that the machine itself has ended."""
    for item in measured:
        if item.run is not None and LOST in item.run.provenance:
            what = f"{item.trial.variant.name}, {item.trial.layout}, {item.trial.workload}"
            yield f"{what}: {item.run.reason}"


def _tell_not_replayed(prepared: Prepared, measured: Sequence[Measured], forge: Maker) -> None:
    for item in measured:
        if item.replayed and item.run is None:
            variant, workload = item.trial.variant, prepared.workload_of(item.trial).title
            forge.failures[identity(variant), f"replayed {workload}"] = (
                f"not replayed: {variant.name}, {workload}: the boot that writes the trace has not "
                "ended well"
            )


def _in_layouts(prepared: Prepared, layouts: int) -> Prepared:
    """With so many random layouts; those that there were stay what and where they are."""
    names = [workload.name for workload in prepared.workloads]
    trials = plan_trials(prepared.study.with_layouts(layouts), prepared.variants, names)
    return replace(prepared, trials=trials)


def measure(
    prepared: Prepared,
    forge: Bootable,
    ledger: Ledger,
    events: Events,
    workers: Workers | None = None,
    *,
    keep_traces: bool = False,
) -> list[Measured]:
    """Run the trials whose kernels could be made, and return all of them with their runs."""
    rows = plan_of(prepared, forge, ledger)
    checking = _run(prepared, forge, rows, ledger, events, workers, keep_traces=keep_traces)
    runs = ledger.runs(row.digest for row in (*rows.values(), *checking.values()))
    traced = ledger.runs({run.replayed_from for run in runs.values()} - {""})
    return [
        Measured(
            trial,
            row.digest,
            run,
            row.replayed,
            runs.get(checking[trial].digest) if trial in checking else None,
            traced.get(run.replayed_from) if run else None,
        )
        for (trial, row), run in zip(rows.items(), runs_of(rows, runs), strict=True)
    ]


def plan_of(prepared: Prepared, forge: Bootable, ledger: Ledger) -> Rows:
    """The rows of the trials whose kernels could be made, as the ledger has them now.

    It keeps the plan under what it consists of, not only under the words of the study: when a
    source or a config has changed, the same words are another plan.
    """
    rows = trial_rows(prepared, forge)
    plan = [(row, t.variant.name, t.block, t.position) for t, row in rows.items()]
    study = prepared.study
    key = digest_of([prepared.digest, [[t.position, row.digest] for t, row in rows.items()]])
    ledger.record_study(key, study.name, write_study(without_folders(study)), plan)
    return rows


def _run(
    prepared: Prepared,
    forge: Bootable,
    rows: Rows,
    ledger: Ledger,
    events: Events,
    workers: Workers | None,
    *,
    keep_traces: bool,
) -> Rows:
    """Replay and boot what has no run yet; returns the boots that check replays, by the trials."""
    replayed = {trial: row for trial, row in rows.items() if row.replayed}
    booted = {trial: row for trial, row in rows.items() if trial not in replayed}
    checking = {
        trial: row
        for trial, row in checking_rows(replayed).items()
        if forge.image(trial.variant, trial.layout) is not None
    }
    ledger.add_trials(checking.values())
    if replayed:
        run_replays(prepared, forge, replayed, ledger, events, workers, keep_traces=keep_traces)
    run_trials(prepared, forge, booted | checking, ledger, events, workers)
    return checking
