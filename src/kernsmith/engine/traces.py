# SPDX-License-Identifier: GPL-2.0-or-later
"""Traces in the store: where they lie, and the piece of work that takes one and replays it.

A trace is some megabytes to hundreds of them. The layout lab keeps those that it takes; a study
frees its own when all layouts of a kernel and a workload are replayed, so they have a name of their
own.
"""

from __future__ import annotations

import fcntl
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kernsmith.engine.function_costs import costs_path, write_costs
from kernsmith.engine.kernel_code import note_modules
from kernsmith.engine.replay import BATCH, Traced, open_traced
from kernsmith.engine.sessions import Ran
from kernsmith.engine.workers import Say
from kernsmith.files import locked
from kernsmith.guest.workloads import Workload
from kernsmith.kernel.artifact import Kernel
from kernsmith.layout import Arrangement, TraceFile
from kernsmith.layout.traced import Figures
from kernsmith.ledger import now
from kernsmith.machine import Job, Machine, Outcome
from kernsmith.study import digest_of


def trace_tag(kernel: Kernel, workload: Workload) -> str:
    """What a trace says that it is of."""
    return f"{kernel.build_id}/{workload.amount}"


def trace_path(kernel: Kernel, workload: Workload, machine: Machine) -> Path:
    """Where a trace that is kept lies or will lie; one serves all CPU models."""
    conditions = {k: v for k, v in machine.fingerprint(kernel.vmlinux).items() if k != "cpu"}
    folder = kernel.folder / "traces" / digest_of(conditions)[:12]
    return folder / f"{workload.amount}.trace"


def places_path(trace: Path) -> Path:
    """Where it is noted where modules were when a trace was taken; trace: see `trace_path`."""
    return trace.with_suffix(".modules")


@dataclass(frozen=True)
class Tracing:
    """A workload on a kernel in its default layout, to be replayed in other ones, if in any, and
    counted by function.

    folder: of the kernel. job: the boot; its `trace` is the tag. path: see `trace_path`.
    boots: whether to boot even if there is a trace, because nobody knows the figures of the boot.
    keep: whether the trace stays for others. free: whether, if it does not,
        it goes now, and not at the end of the study.
    """

    machine: Machine
    folder: Path
    job: Job
    path: Path
    cpu: Path
    boots: bool
    layouts: tuple[Arrangement, ...]
    keep: bool = False
    free: bool = True
    every: int = 1


@dataclass(frozen=True)
class Replayed:
    """What layouts cost.

    first: the number of the first one. seconds: of all of them.
    default: what the default layout costs in the same windows; None: the whole trace is replayed.
    """

    first: int
    figures: tuple[Figures, ...]
    started_at: str
    seconds: float
    default: Figures | None = None


def trace_and_replay(say: Say, asked: Tracing) -> bool:
    """Take the trace if it is missing, and replay it; tells a boot as `Ran`, layouts as `Replayed`.

    Returns whether the boot ended well, if there was one. Who wants the same trace waits.
    """
    own = _own(asked.path)
    with locked(_lock(asked.path)):
        path = next((path for path in (asked.path, own) if path.exists()), None)
        if path is None or asked.boots:
            taken = _boot(say, asked, traced=path is None)
            path = path or taken
        if path is None:
            return False
        _replay(say, asked, path)
        if _tells_costs(asked):
            costs = costs_path(asked.path, asked.cpu)
            write_costs(asked.folder, path, asked.cpu, costs, places_path(asked.path))
        if asked.free and not asked.keep:
            own.unlink(missing_ok=True)
    return True


def _tells_costs(asked: Tracing) -> bool:
    """Whether it is the boot of which reports tell what costs how much: the first."""
    return not asked.job.workload.boot


def hand_over(
    kernel: Kernel, workload: Workload, machine: Machine, outcome: Outcome, trace: Path
) -> None:
    """Let a study find a trace that another boot in the default layout has written."""
    path = trace_path(kernel, workload, machine)
    with locked(_lock(path)):
        trace.replace(_own(path))
        note_modules(outcome, places_path(path))


def free_trace(kernel: Kernel, workload: Workload, machine: Machine) -> None:
    """Remove the trace that a study has left for its further layouts, unless somebody uses it."""
    path = trace_path(kernel, workload, machine)
    if not _own(path).exists():
        return
    with _lock(path).open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        _own(path).unlink(missing_ok=True)


def _own(path: Path) -> Path:
    return path.with_suffix(".passing.trace")


def _lock(path: Path) -> Path:
    return path.with_suffix(".lock")


def _boot(say: Say, asked: Tracing, *, traced: bool) -> Path | None:
    """Boot; the trace, if there is to be one and the boot ended well."""
    job = asked.job if traced else replace(asked.job, trace="")
    image = asked.folder / "vmlinux"
    with asked.machine.open(image, job.folder) as session:
        started = now()
        outcome = session.run(job)
    path = None
    if outcome.ok and outcome.trace is not None:
        path = asked.path if asked.keep else _own(asked.path)
        outcome.trace.replace(path)
        if _tells_costs(asked):
            note_modules(outcome, places_path(asked.path))
    say(Ran(0, outcome, started))
    return path


def _replay(say: Say, asked: Tracing, path: Path) -> None:
    if not asked.layouts:
        return
    file = TraceFile(asked.job.workload.name, path, asked.job.trace)
    traced = open_traced(Traced(asked.folder, (file,)))

    def cost(layouts: Sequence[Arrangement]) -> list[Figures]:
        return traced.figures(layouts, asked.cpu, every=asked.every, displaced=None, threads=1)

    default = cost([traced.text.arranged([])])[0] if asked.every > 1 else None
    for first in range(0, len(asked.layouts), BATCH):
        started, began = now(), time.monotonic()
        found = tuple(cost(asked.layouts[first : first + BATCH]))
        say(Replayed(first, found, started, time.monotonic() - began, default))
