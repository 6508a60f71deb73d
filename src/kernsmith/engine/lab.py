# SPDX-License-Identifier: GPL-2.0-or-later
"""The layout lab: a kernel, its linker map, and a trace of each workload, made when missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kernsmith import _native
from kernsmith.engine.events import Events
from kernsmith.engine.kept_orders import KeptOrders
from kernsmith.engine.replay import Replays, Traced, open_traced, text_of
from kernsmith.engine.sessions import Ran, Visit, in_sessions
from kernsmith.engine.traces import trace_path, trace_tag
from kernsmith.engine.workers import LocalWorkers, Workers
from kernsmith.errors import KernsmithError
from kernsmith.files import locked
from kernsmith.guest.workloads import Workload
from kernsmith.kernel.artifact import Kernel, file_digest
from kernsmith.kernel.bolted import refuse_bolted
from kernsmith.kernel.link import relink
from kernsmith.kernel.link_map import linkers_own_order
from kernsmith.kernel.symbols import movable_functions, read_system_map
from kernsmith.layout import Costs, Evaluator, TraceFile, layout_name, read_link_map
from kernsmith.layout.evaluate import movable_in
from kernsmith.machine import Job, Outcome
from kernsmith.machine.console import with_console
from kernsmith.machine.tcg import Tcg

# Sorting functions that lld has itself.
LINKERS = ("hfsort", "cdsort")


class TraceFailed(KernsmithError):
    """A workload that did not run to its end, so there is no trace of it."""


@dataclass(frozen=True)
class Lab:
    """Everything that orders of one kernel are judged with.

    traced: what the tracer counted in the default layout while it wrote the traces, of which
        misses are those of the CPU model that it had then.
    workers: who replays and boots.
    kept: orders that take long to find.
    """

    kernel: Kernel
    machine: Tcg
    workloads: tuple[Workload, ...]
    evaluator: Evaluator
    traced: Costs
    workers: Workers
    kept: KeptOrders

    def linkers_order(self, algorithm: str, train: Sequence[str]) -> list[str]:
        """The order that the linker makes of the call graph of some workloads.

        algorithm: one of `LINKERS`.
        """
        path = linkers_own_order(self.kernel, self.evaluator.calls(train), algorithm)
        return read_link_map(path).in_order(self.evaluator.movable)

    def image(self, order: Sequence[str]) -> Path:
        """The kernel linked in an order."""
        if not order:
            return self.kernel.vmlinux
        name = layout_name("order", order)
        return relink(self.kernel, name, list(order))

    def measured(self, order: Sequence[str], events: Events, *, only: Sequence[str] = ()) -> Costs:
        """What the workloads cost on the kernel that is linked in this order, by booting it.

        only: names of some workloads; without any, all.
        """
        image = self.image(order)
        events.stage("boot the relinked kernel")
        folder = image.parent / "lab"
        jobs = [
            Job(work, folder / work.name, modules=self.kernel.guest_archive)
            for work in self.workloads
            if not only or work.name in only
        ]
        outcomes = _run_all(image, jobs, self.machine, events, self.workers)
        return {
            job.workload.name: {
                name: value for name, (value, _) in outcomes[job.workload.name].metrics.items()
            }
            for job in jobs
        }


def open_lab(
    kernel: Kernel,
    workloads: Sequence[Workload],
    machine: Tcg,
    events: Events,
    *,
    every: int = 1,
    most: int = 0,
    workers: Workers | None = None,
) -> Lab:
    """Link, boot and read what is missing.

    Traces are kept beside the kernel; one serves all CPU models.

    most: where a trace has more blocks, a part of about so many stands for all of it (`whole` of
        the evaluator); 0: none does.
    workers: who replays and boots; by default this machine.

    Raises:
        TraceFailed: a workload did not end well.
        UserError: a kernel whose functions cannot be moved.
    """
    refuse_bolted(kernel)
    workers = workers or LocalWorkers()
    events.stage("read the linker's map")
    text = text_of(kernel.folder)
    movable = movable_in(text, movable_functions(read_system_map(kernel.system_map)))
    paths = take_traces(kernel, workloads, machine, events, workers)
    events.stage("read traces")
    files = (TraceFile(work.name, paths[work.name], trace_tag(kernel, work)) for work in workloads)
    traced = Traced(kernel.folder, tuple(files))
    opened = open_traced(traced, text, lambda done: events.progress("traces", done, len(workloads)))
    replays = Replays(traced, machine.cpu, workers)
    whole = -(-opened.longest // most) if most else 1
    evaluator = Evaluator(opened, movable, machine.cpu, replays, every=every * whole, whole=whole)
    programs = file_digest(Path(_native.__file__))
    of = [programs, str(machine.fingerprint()), *sorted(path.name for path in paths.values())]
    kept = KeptOrders(kernel.folder / "orders", tuple(of))
    return Lab(kernel, machine, tuple(workloads), evaluator, opened.counters, workers, kept)


def take_traces(
    kernel: Kernel,
    workloads: Sequence[Workload],
    machine: Tcg,
    events: Events,
    workers: Workers,
) -> dict[str, Path]:
    """The trace of each workload, taken now where there is none.

    Raises:
        TraceFailed: a workload did not end well.
    """
    paths = {w.name: trace_path(kernel, w, machine) for w in workloads}
    folder = paths[workloads[0].name].parent
    with locked(folder / "lock"):
        missing = [w for w in workloads if not paths[w.name].exists()]
        if missing:
            events.stage(f"trace {len(missing)} workloads")
        jobs = [
            Job(
                work,
                folder / f"{work.name}.boot",
                trace=trace_tag(kernel, work),
                modules=kernel.guest_archive,
            )
            for work in missing
        ]
        for name, outcome in _run_all(kernel.vmlinux, jobs, machine, events, workers).items():
            assert outcome.trace is not None
            outcome.trace.replace(paths[name])
    return paths


def _run_all(
    image: Path, jobs: Sequence[Job], machine: Tcg, events: Events, workers: Workers
) -> dict[str, Outcome]:
    """The outcomes of all jobs, by workload.

    Raises:
        TraceFailed: one did not end well, or gave no trace that it was to give.
    """
    outcomes: dict[str, Outcome] = {}

    def ran(visit: Visit[Job], job: Job, run: Ran) -> None:
        outcome = run.outcome
        if not outcome.ok or (job.trace and outcome.trace is None):
            failed = TraceFailed(
                f"{job.workload.name} failed ({outcome.status}): "
                f"{with_console(outcome.reason or 'no trace came out', outcome.console)}"
            )
            failed.of_host = outcome.lost
            raise failed
        outcomes[job.workload.name] = outcome
        events.progress("workloads", len(outcomes), len(jobs))

    visits = [Visit(image, image.parent / "lab", tuple(jobs))]
    in_sessions(machine, visits, lambda job: job, ran, workers=workers)
    return outcomes
