# SPDX-License-Identifier: GPL-2.0-or-later
"""Replay the random layouts of a study: one boot of each kernel and workload serves all of them,
or `Design.boots` serve a part each.

A run by replay is a row of the ledger like any other, of a trial that is told from the one that
boots the same layout by its conditions (`ledger.rows.REPLAYED`). Its figures are those of the boot
that wrote the trace, with those in their place that a layout changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, product
from pathlib import Path
from threading import Lock

from kernsmith.engine.events import Events
from kernsmith.engine.making import map_inputs, map_link
from kernsmith.engine.prepare import Prepared
from kernsmith.engine.replay import every_of, text_of
from kernsmith.engine.sessions import Ran
from kernsmith.engine.traces import (
    Replayed,
    Tracing,
    free_trace,
    trace_and_replay,
    trace_path,
    trace_tag,
)
from kernsmith.engine.trial_rows import Bootable, Rows, default_row, record_default, settled
from kernsmith.engine.trials import in_passes, open_trials
from kernsmith.engine.workers import Done, LocalWorkers, Work, Workers
from kernsmith.errors import KernsmithError, UserError
from kernsmith.guest.workloads import Workload
from kernsmith.kernel.artifact import Kernel
from kernsmith.layout import Arrangement
from kernsmith.ledger import Ledger, RunRow
from kernsmith.ledger.rows import OK, REPLAYED_FROM
from kernsmith.machine import Job
from kernsmith.machine.console import with_console
from kernsmith.store import new_consoles
from kernsmith.study import Trial


def run_replays(
    prepared: Prepared,
    forge: Bootable,
    rows: Rows,
    ledger: Ledger,
    events: Events,
    workers: Workers | None = None,
    *,
    keep_traces: bool = False,
) -> None:
    """Replay what has no run yet; record each run, and each boot that writes a trace as a trial.

    rows: of the trials that are replayed. keep_traces: whether traces stay in the store.

    Raises:
        UserError: a kernel whose functions nobody knows the places of.
    """
    todo = open_trials(rows, prepared.machine, ledger, events)
    if not todo:
        return
    workers = workers or LocalWorkers()
    kernels = {rows[t].kernel: k for t in todo if (k := forge.kernel(t.variant)) is not None}
    _map(list(kernels.values()), events, workers)
    events.stage(f"replay {len(todo)} trials")
    cpu = prepared.machine.cpu
    assert cpu is not None
    every = every_of(prepared.study.design.every, cpu, len(prepared.workloads))
    work = _Work(
        prepared, forge, rows, ledger, events, workers, kernels, every, len(todo), keep_traces
    )
    in_passes(todo, work.one_pass, rows, ledger, events)


def free_traces(prepared: Prepared, forge: Bootable) -> None:
    """Remove the traces that the study has kept for more layouts."""
    for variant, workload in {(t.variant, prepared.workload_of(t)) for t in prepared.trials}:
        if kernel := forge.kernel(variant):
            free_trace(kernel, workload, prepared.machine)


def _map(kernels: Sequence[Kernel], events: Events, workers: Workers) -> None:
    """Have each kernel's linker maps, which say where its functions lie."""
    events.stage("read the linker's maps")

    def take(done: Done[str]) -> None:
        try:
            done.result()
        except KernsmithError as error:
            raise UserError(
                f"layouts cannot be replayed: {error}; --layouts-by boot links and boots each"
            ) from error

    maps = product(kernels, (map_link, map_inputs))
    workers.each((Work(make, (kernel.key,)) for kernel, make in maps), take)


@dataclass
class _Group:
    """Layouts of one kernel, workload and boot that this process has claimed, with their attempts.

    default: metrics of the boot in the default layout, and its console.
    trace: what the trace says that it is of, and the digest of that boot's trial.
    """

    kernel: Kernel
    workload: Workload
    claimed: list[tuple[Trial, int]]
    default: tuple[Mapping[str, tuple[float, str]], str] | None
    trace: Mapping[str, str]


@dataclass
class _Work:
    """Replays on their way to the ledger.

    every: one of so many windows of the traces is replayed. held: what other processes have in
    this pass.
    """

    prepared: Prepared
    forge: Bootable
    rows: Rows
    ledger: Ledger
    events: Events
    workers: Workers
    kernels: Mapping[str, Kernel]
    every: int
    total: int
    keep: bool
    done: int = 0
    held: list[Trial] = field(default_factory=list)
    counting: Lock = field(default_factory=Lock)
    folder: Path = field(default_factory=new_consoles)

    def one_pass(self, todo: Sequence[Trial]) -> list[Trial]:
        """Try each trial once; returns those that another living process has."""
        self.held.clear()
        begun: list[_Group] = []

        def say(place: int, value: object) -> None:
            group = begun[place]
            if isinstance(value, Ran):
                self._booted(group, value)
            elif isinstance(value, Replayed):
                self._replayed(group, value)

        def take(done: Done[bool]) -> None:
            if not done.result():
                self._give_up(begun[done.place])

        works = self._works(todo, begun.append)
        self.workers.each(works, take, say=say, slots=self.prepared.machine.slots)
        return sorted(self.held, key=lambda trial: trial.position)

    def _works(
        self, todo: Sequence[Trial], begin: Callable[[_Group], None]
    ) -> Iterator[Work[bool]]:
        """A piece for each kernel, boot and workload; kernel after kernel, as texts are large."""

        def place(trial: Trial) -> tuple[str, int, str]:
            # A boot of several workloads is one until they begin, and its snapshot serves all.
            return self.rows[trial].kernel, trial.boot, trial.workload

        by_kernel = groupby(
            sorted(todo, key=lambda t: (place(t), t.position)), lambda t: place(t)[0]
        )
        for key, of_kernel in by_kernel:
            kernel = self.kernels[key]
            arranged: dict[str, Arrangement] = {}
            for _, group_of in groupby(of_kernel, place):
                trials = list(group_of)
                workload = self.prepared.workload_of(trials[0])
                if group := self._claim(kernel, workload, trials):
                    begin(group)
                    yield Work(trace_and_replay, (self._piece(group, arranged),))

    def _claim(self, kernel: Kernel, workload: Workload, trials: list[Trial]) -> _Group | None:
        machine = self.prepared.machine
        row = default_row(self.prepared, machine, kernel, workload)
        known = settled(self.ledger, row.digest, machine)
        if known is not None and not known.ok:
            what = f"{trials[0].variant.name}, {workload.title}"
            self.events.note(f"{known.status}: {what}: there is no trace to replay")
            return None
        claimed = self._attempts(trials)
        if not claimed:
            return None
        default = None if known is None else (known.metrics, known.console)
        trace = {"trace": trace_tag(kernel, workload), "trial": row.digest}
        return _Group(kernel, workload, claimed, default, trace)

    def _attempts(self, trials: Sequence[Trial]) -> list[tuple[Trial, int]]:
        """Claim trials: those without a run, with the numbers of the attempts.

        Where another process has one, it has the trace, and all that follow are left to it.
        """
        claimed: list[tuple[Trial, int]] = []
        for at, trial in enumerate(trials):
            digest = self.rows[trial].digest
            attempt = self.ledger.claim(digest)
            if attempt is None:
                self.held += trials[at:]
                break
            if settled(self.ledger, digest, self.prepared.machine):
                self.ledger.give_back(digest, attempt)
                self._count()
            else:
                claimed.append((trial, attempt))
        return claimed

    def _piece(self, group: _Group, arranged: dict[str, Arrangement]) -> Tracing:
        """arranged: the kernel's layouts by their names, as far as they are known."""
        kernel, workload, machine = group.kernel, group.workload, self.prepared.machine
        text = text_of(kernel.folder)
        layouts = []
        for trial, _ in group.claimed:
            link = self.forge.order(trial.variant, trial.layout)
            assert link is not None
            if link.name not in arranged:
                arranged[link.name] = text.arranged(link.order.names, link.order.margins)
            layouts.append(arranged[link.name])
        tag = trace_tag(kernel, workload)
        assert machine.cpu is not None
        return Tracing(
            machine=machine,
            folder=kernel.folder,
            job=Job(
                workload,
                self.folder / f"{kernel.key[:20]}-{workload.amount}",
                trace=tag,
                modules=kernel.guest_archive,
            ),
            path=trace_path(kernel, workload, machine),
            cpu=machine.cpu,
            boots=group.default is None,
            layouts=tuple(layouts),
            keep=self.keep,
            free=not self.prepared.study.design.until,
            every=self.every,
        )

    def _booted(self, group: _Group, ran: Ran) -> None:
        outcome = ran.outcome
        record_default(
            self.prepared, self.prepared.machine, self.ledger, group.kernel, group.workload,
            outcome, ran.started_at,
        )  # fmt: skip
        if outcome.ok:
            group.default = outcome.metrics, str(outcome.console)
        else:
            what = f"{group.workload.title} in the default layout"
            why = with_console(outcome.reason, outcome.console)
            self.events.note(f"{outcome.status}: {what}: {why}")

    def _replayed(self, group: _Group, replayed: Replayed) -> None:
        assert group.default is not None
        metrics, console = group.default
        default = replayed.default[0] if replayed.default else None
        for at, (counted,) in enumerate(replayed.figures):
            trial, attempt = group.claimed[replayed.first + at]
            run = RunRow(
                trial=self.rows[trial].digest,
                attempt=attempt,
                status=OK,
                reason="",
                console=console,
                started_at=replayed.started_at,
                wall_seconds=replayed.seconds / len(replayed.figures),
                metrics={
                    name: (estimated(name, value, counted, default), unit)
                    for name, (value, unit) in metrics.items()
                },
                provenance={REPLAYED_FROM: {**group.trace, "every": self.every}},
            )
            self.ledger.record(run)
            self._count()

    def _give_up(self, group: _Group) -> None:
        """Without a trace; that the boot failed is the default layout's own run."""
        for trial, attempt in group.claimed:
            self.ledger.give_back(self.rows[trial].digest, attempt)

    def _count(self) -> None:
        with self.counting:
            self.done += 1
            self.events.progress("trials", self.done, self.total)


def estimated(
    name: str, booted: float, counted: Mapping[str, float], default: Mapping[str, float] | None
) -> float:
    """A figure of a layout.

    Of a sample of the trace it is the ratio estimator (Cochran, Sampling Techniques, chapter 6):
    what the boot counted in the default layout, by what both layouts cost in the same windows.

    booted: what the boot counted. counted: what the layout costs in the windows. default: what the
    default layout does; None when the windows are the whole trace.
    """
    if name not in counted:
        return booted
    if default is None:
        return counted[name]
    return booted * counted[name] / default[name] if default[name] else booted + counted[name]
