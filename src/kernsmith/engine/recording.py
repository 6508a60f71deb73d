# SPDX-License-Identifier: GPL-2.0-or-later
"""Profiles of a kernel for other programs: exact counts, and samples as hardware takes them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kernsmith.engine.events import Events
from kernsmith.engine.evidence import BRANCHES
from kernsmith.engine.lab import take_traces
from kernsmith.engine.traces import trace_tag
from kernsmith.engine.training import train
from kernsmith.engine.workers import LocalWorkers
from kernsmith.guest.workloads import Workload
from kernsmith.kernel.artifact import Kernel
from kernsmith.machine import Outcome
from kernsmith.machine.tcg import Tcg
from kernsmith.profile import BranchCounts, merge_counts
from kernsmith.profile.perfdata import TakenTrace, write_perf_data


def record_counts(
    kernel: Kernel, workloads: Sequence[Workload], machine: Tcg, events: Events
) -> BranchCounts:
    """Exact counts of workloads, each with the same weight: what a step of AutoFDO trains on.

    Raises:
        TrainingFailed: a workload did not end well.
    """
    parts = train(kernel, BRANCHES, workloads, machine, events, _unseen, LocalWorkers())
    return merge_counts([parts[workload.name] for workload in workloads])


def record_perf_data(
    kernel: Kernel,
    workloads: Sequence[Workload],
    machine: Tcg,
    events: Events,
    path: Path,
    *,
    period: int,
    command: Sequence[str],
) -> tuple[int, int]:
    """Write a file as `perf record -b` would have; returns samples and branches.

    Workloads stand one behind the other, each with as many samples as it has branches for.

    Raises:
        TraceFailed: a workload did not end well.
        UserError: the file cannot be written.
    """
    paths = take_traces(kernel, workloads, machine, events, LocalWorkers())
    events.stage("sample the traces")
    traces = [
        TakenTrace(work.name, paths[work.name], trace_tag(kernel, work)) for work in workloads
    ]
    return write_perf_data(path, kernel, traces, period=period, command=command)


def _unseen(kernel: Kernel, workload: Workload, outcome: Outcome, started_at: str) -> None:
    """Nobody keeps these boots in a ledger."""
