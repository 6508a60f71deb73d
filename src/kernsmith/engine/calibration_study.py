# SPDX-License-Identifier: GPL-2.0-or-later
"""Calibrating by a study on two machines: kernels in the layouts that a real machine has timed.

Workloads take the place of programs, variants that of builds. The `tcg` machine traces each kernel
and workload once, in the default layout; a part of that is replayed in each other one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import groupby
from pathlib import Path

import numpy as np

from kernsmith._native import trace_part
from kernsmith.engine.calibration import Timed
from kernsmith.engine.events import Events
from kernsmith.engine.failures import Failures
from kernsmith.engine.images import Images
from kernsmith.engine.lab import take_traces
from kernsmith.engine.recorded import Stored
from kernsmith.engine.replay import text_of
from kernsmith.engine.timed_study import Cell, TimedStudy
from kernsmith.engine.traces import trace_path, trace_tag
from kernsmith.engine.workers import LocalWorkers
from kernsmith.errors import UserError
from kernsmith.files import locked, replacing
from kernsmith.guest.workloads import Workload
from kernsmith.kernel.artifact import Kernel
from kernsmith.layout import Arrangement, TracedText, TraceFile
from kernsmith.machine.metrics import MODEL_CYCLES
from kernsmith.machine.tcg import Tcg
from kernsmith.stats.calibration import Case
from kernsmith.study import Layout

EVERY = 8
"""One of so many windows of each trace is replayed."""


class Replaying:
    """Replays the cells of a study with other CPU models: `calibration.Simulate`."""

    def __init__(self, timed: TimedStudy, events: Events) -> None:
        """Trace what has not been traced.

        Raises:
            KernsmithError: a workload did not end well, or functions cannot be moved.
        """
        self._timed = timed
        self._cells = {cell.key: cell for cell in timed.cells}
        self._texts: dict[str, TracedText] = {}
        self._arranged: dict[tuple[str, Layout], Arrangement] = {}
        self._scales: dict[str, float] = {}
        self._users: dict[str, float] = {}
        for name, kernel in timed.kernels.items():
            parts = _parts(kernel, timed.workloads, timed.tracer, events)
            self._texts[name] = TracedText(text_of(kernel.folder), parts)
        self._arrange(events)
        self._scale()

    def timed(self) -> list[Timed]:
        """The cells as they are calibrated by, with what the model says of them.

        Times whose unit is not the model's are told in it: by the factor that makes the baseline's,
        of all workloads together, what the model says before it is calibrated.
        """
        baseline, cells = self._timed.baseline, self._timed.cells
        (cycles,) = self.replayed([cell.key for cell in cells], [self._timed.model])
        measured = np.array([cell.figures[0] for cell in cells])
        own = np.array([cell.variant.name == baseline for cell in cells])
        if not self._timed.absolute:
            measured *= np.exp(np.mean(np.log(cycles[own] / measured[own])))
        return [
            Timed(Case(c.workload, c.variant.name, bool(of), float(took)), c.key, float(modelled))
            for c, of, took, modelled in zip(cells, own, measured, cycles, strict=True)
        ]

    def __call__(self, timed: Sequence[Timed], cpus: Sequence[Path]) -> np.ndarray:
        """See `replayed`."""
        return self.replayed([one.key for one in timed], cpus)

    def replayed(self, keys: Sequence[str], cpus: Sequence[Path]) -> np.ndarray:
        """Cycles of these cells with models of the CPU: of kernel mode, and of user mode where the
        metric counts that. Shape: (cpus, keys)."""
        found: dict[str, list[float]] = {key: [] for key in keys}
        for cpu in cpus:
            for key, cycles in self._replayed([self._cells[key] for key in keys], cpu):
                workload = self._cells[key].workload
                whole = cycles * self._scales[workload]
                found[key].append(whole + self._users.get(workload, 0.0))
        return np.array([found[key] for key in keys]).T

    def _replayed(self, cells: Sequence[Cell], cpu: Path) -> Iterator[tuple[str, float]]:
        for name, mine in groupby(cells, lambda cell: cell.variant.name):
            of_kernel, text = list(mine), self._texts[name]
            layouts = list(dict.fromkeys(cell.layout for cell in of_kernel))
            costs = text.figures(
                [self._arranged[name, layout] for layout in layouts],
                cpu,
                every=1,
                displaced=None,
                threads=os.cpu_count() or 1,
            )
            places = {workload: place for place, workload in enumerate(text.workloads)}
            for cell in of_kernel:
                figures = costs[layouts.index(cell.layout)][places[cell.workload]]
                yield cell.key, figures[MODEL_CYCLES]

    def _arrange(self, events: Events) -> None:
        variants = dict.fromkeys(cell.variant for cell in self._timed.cells)
        stored = Stored({each: self._timed.kernels[each.name].key for each in variants})
        images = Images(stored, events, Failures(), lambda kernel: "", False, LocalWorkers())
        for cell in self._timed.cells:
            name, layout = cell.variant.name, cell.layout
            if (name, layout) in self._arranged:
                continue
            text = self._texts[name].text
            if layout == Layout():
                self._arranged[name, layout] = text.arranged([])
                continue
            link = images.order(cell.variant, layout)
            if link is None:
                raise UserError(f"nobody knows the order of {name} in the layout {layout}")
            self._arranged[name, layout] = text.arranged(link.order.names, link.order.margins)

    def _scale(self) -> None:
        """Parts of traces stand for whole runs, as the tracer's own model counted these. User mode
        is not traced, and is the same for all kernels: an instruction of it takes what one of the
        baseline's kernel mode does."""
        timed = self._timed
        first: dict[str, Cell] = {}
        for cell in timed.cells:
            if cell.key in timed.counted:
                first.setdefault(cell.workload, cell)
        cells = list(first.values())
        by_tracer = dict(self._replayed(cells, timed.tracer.cpu))
        for key, cycles in self._replayed(cells, timed.model):
            workload = self._cells[key].workload
            self._scales[workload] = timed.counted[key] / by_tracer[key]
            if timed.users:
                self._users[workload] = cycles * self._scales[workload] * timed.users[workload]


def _parts(
    kernel: Kernel, workloads: Sequence[Workload], machine: Tcg, events: Events
) -> list[TraceFile]:
    """One of `EVERY` windows of each workload's trace; whole ones that are made for it go again."""
    parts = {w.name: _part_path(kernel, w, machine) for w in workloads}
    with locked(parts[workloads[0].name].parent / "parts.lock"):
        missing = [w for w in workloads if not parts[w.name].exists()]
        there = {w.name for w in missing if trace_path(kernel, w, machine).exists()}
        if missing:
            whole = take_traces(kernel, missing, machine, events, LocalWorkers())
            for name, path in whole.items():
                with replacing(parts[name]) as new:
                    trace_part(path, EVERY, new)
                if name not in there:
                    with suppress(OSError):
                        path.unlink()
    return [TraceFile(w.name, parts[w.name], trace_tag(kernel, w)) for w in workloads]


def _part_path(kernel: Kernel, workload: Workload, machine: Tcg) -> Path:
    return trace_path(kernel, workload, machine).with_suffix(f".part{EVERY}.trace")
