# SPDX-License-Identifier: GPL-2.0-or-later
"""Training: boot the trainer kernel with each training workload, keep its exact branch counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path

from kernsmith.engine.events import Events
from kernsmith.engine.sessions import Ran, Visit, in_sessions
from kernsmith.engine.workers import Workers
from kernsmith.errors import KernsmithError
from kernsmith.guest.workloads import Workload
from kernsmith.kernel.artifact import Kernel
from kernsmith.machine import Boot, Job, Machine, Outcome
from kernsmith.profile import BranchCounts, read_counts, write_counts
from kernsmith.profile.counts import read_body
from kernsmith.study import digest_of

Seen = Callable[[Kernel, Workload, Outcome, str], None]


class TrainingFailed(KernsmithError):
    """A training workload did not run to its end, so there is no profile of it."""


def train(
    kernel: Kernel,
    workloads: Sequence[Workload],
    machine: Machine,
    events: Events,
    seen: Seen,
    workers: Workers | None = None,
    trace_of: Callable[[Workload], str] = lambda workload: "",
) -> dict[str, BranchCounts]:
    """The counts of each workload on a kernel in its default layout, by its name; of some, when the
    workers end before all is done.

    Counts that were taken before are read back.

    trace_of: the tag of the trace that a workload's boot is to write, too; empty for none.
    seen: called, from the calling thread, with (kernel, workload, outcome, start time) of each
        boot, whether it ended well or not.

    Raises:
        TrainingFailed: a workload did not end well.
    """
    conditions = digest_of(dict(machine.fingerprint()))[:12]
    folder = kernel.folder / "profiles" / conditions
    folder.mkdir(parents=True, exist_ok=True)
    parts: dict[str, BranchCounts] = {}
    missing = []
    for workload in workloads:
        path = _counts_path(folder, workload)
        if path.exists():
            parts[workload.name] = read_counts(path)
        else:
            missing.append(workload)
    if missing:
        events.stage(f"train on {len(missing)} workloads")
    done = count(1)
    outcomes: list[tuple[Workload, Ran]] = []

    def begin(workload: Workload) -> Job:
        job = folder / f"{workload.name}.boot"
        return Job(workload, job, profile=True, trace=trace_of(workload))

    def ran(visit: Visit[Workload], workload: Workload, run: Ran) -> None:
        outcomes.append((workload, run))

    def keep(visit: Visit[Workload], boots: Sequence[Boot]) -> None:
        while outcomes:
            workload, run = outcomes.pop(0)
            seen(kernel, workload, run.outcome, run.started_at)
            parts[workload.name] = _keep(kernel, workload, run.outcome, folder)
            events.progress("train", next(done), len(missing))

    visits = [Visit(kernel.vmlinux, folder, tuple(missing))]
    in_sessions(machine, visits, begin, ran, keep, workers)
    return parts


def _counts_path(folder: Path, workload: Workload) -> Path:
    return folder / f"{workload.name}-{workload.rounds}-{workload.warmup}.counts"


def _keep(kernel: Kernel, workload: Workload, outcome: Outcome, folder: Path) -> BranchCounts:
    if not outcome.ok or outcome.counts is None:
        raise TrainingFailed(
            f"training on {workload.name} failed ({outcome.status}): "
            f"{outcome.reason or 'no branch counts came out'}; console: {outcome.console}"
        )
    raw = read_body(outcome.counts.read_text().splitlines(), origin=outcome.counts)
    counts = replace(raw, build_id=kernel.build_id, workloads=(workload.name,))
    write_counts(counts, _counts_path(folder, workload))
    outcome.counts.unlink()
    return counts
