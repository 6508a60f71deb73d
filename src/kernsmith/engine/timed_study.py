# SPDX-License-Identifier: GPL-2.0-or-later
"""What a real machine took for kernels that `tcg` has counted, too: a study on two machines, from
the ledger. Nothing is measured here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kernsmith.engine.recorded import Asked, recorded_result
from kernsmith.engine.verdicts import StudyResult, primary_metric
from kernsmith.errors import UserError
from kernsmith.guest.workloads import Workload
from kernsmith.kernel.artifact import Kernel
from kernsmith.ledger.table import StudyTable, read_study_table
from kernsmith.machine import find_machine
from kernsmith.machine.metrics import (
    KERNEL_CYCLES,
    KERNEL_INSTRUCTIONS,
    MODEL_CYCLES,
    USER_INSTRUCTIONS,
)
from kernsmith.machine.tcg import Tcg
from kernsmith.stats.agreement import Measured
from kernsmith.study import Layout, Study, Variant
from kernsmith.study.machines import on_each_machine
from kernsmith.study.study import FRONTEND, TRACING

_OF_KERNEL_MODE = frozenset({KERNEL_CYCLES, "sys_seconds"})

_FEWEST_LAYOUTS = 4


@dataclass(frozen=True)
class Cell:
    """A kernel in a layout with a workload, and what the real machine took: by all runs, and by
    either half of them."""

    variant: Variant
    layout: Layout
    workload: str
    figures: tuple[float, float, float]

    @property
    def key(self) -> str:
        return _key(self.variant, self.layout, self.workload)


def _key(variant: Variant, layout: Layout, workload: str) -> str:
    return f"{variant.name}/{layout}/{workload}"


@dataclass(frozen=True)
class TimedStudy:
    """What a real machine measured of a study whose kernels can be traced.

    processor: where. metric: what. model: the CPU model that calibration begins with.
    kernels: by the name of the variant. users: of each workload, how many instructions were
        executed in user mode for one in kernel mode; empty where the metric is of kernel mode.
    counted: `model_cycles` of whole runs, by the cell, as `tracer` has counted them.
    """

    processor: str
    metric: str
    model: Path
    cells: tuple[Cell, ...]
    kernels: Mapping[str, Kernel]
    workloads: tuple[Workload, ...]
    users: Mapping[str, float]
    counted: Mapping[str, float]
    tracer: Tcg

    @property
    def baseline(self) -> str:
        """The name of the variant that others are compared with."""
        return self.cells[0].variant.name

    @property
    def absolute(self) -> bool:
        """Whether the metric is in the model's own unit, cycles of the core; else it is a time."""
        return self.metric == KERNEL_CYCLES

    def measured(self) -> list[Measured]:
        """For `stats.agreement`, in the order of the cells."""
        return [
            Measured(each.workload, each.variant.name, str(each.layout), *each.figures)
            for each in self.cells
        ]


def read_timed(study: Study, model: Path, ledger: str | None) -> TimedStudy:
    """What the ledger has of a study on two machines, of which one is `tcg`.

    Raises:
        UserError: it is no such study; one of them has not run it, or too little of it; they
            measured different kernels; a kernel is not in the store any more.
    """
    places = on_each_machine(study)
    exact = [place for place in places if place.machine in TRACING]
    real = [place for place in places if place.machine not in TRACING]
    if len(exact) != 1 or len(real) != 1:
        raise UserError(
            f"study {study.name}: a model is calibrated by a study on two machines, of which one "
            "is tcg and the other one real: it needs [[machine]] twice (docs/machines.md)"
        )
    if exact[0].depth != FRONTEND or exact[0].vcpus > 1:
        raise UserError(
            f"study {study.name}: layouts are replayed for one vCPU and the depth {FRONTEND} alone"
        )
    tables = [_table(place.name, ledger) for place in (*exact, *real)]
    counted, timed = (recorded_result(table, Asked()) for table in tables)
    conditions = tables[1].plan[0].trial.conditions.get("machine", {})
    metric = primary_metric(real[0].design, tables[1].units)
    cells = tuple(_cells(timed, metric))
    _check(study.name, cells)
    kernels = _same_kernels(study.name, counted, timed, cells)
    tracer = find_machine(exact[0].machine, exact[0].cpu, dict(exact[0].settings))
    assert isinstance(tracer, Tcg)
    names = {cell.workload for cell in cells}
    return TimedStudy(
        processor=_processor(real[0], conditions.get("conditions", {})),
        metric=metric,
        model=model,
        cells=cells,
        kernels=kernels,
        workloads=tuple(w for w in counted.prepared.workloads if w.name in names),
        users={} if metric in _OF_KERNEL_MODE else _users(counted),
        counted=_counted(study.name, counted, cells[0].variant.name, names),
        tracer=tracer,
    )


def _processor(real: Study, conditions: Mapping[str, str]) -> str:
    """In words. What an emulator takes says nothing of the processor that it runs on."""
    told = conditions.get("processor", real.machine)
    return f"QEMU's emulator on {told}" if dict(real.settings).get("accel") == "tcg" else told


def _table(name: str, ledger: str | None) -> StudyTable:
    try:
        return read_study_table(name, ledger)
    except UserError as error:
        raise UserError(f"{error}; a model is calibrated by a study that was run before") from None


def _cells(result: StudyResult, metric: str) -> Iterator[Cell]:
    """All that has figures, variant by variant; an order of a file cannot be made again."""
    values: dict[tuple[Variant, Layout, str], list[float]] = {}
    places = {variant: place for place, variant in enumerate(result.prepared.variants)}
    for item in sorted(result.measured, key=lambda m: (places[m.trial.variant], m.trial.replicate)):
        trial, run = item.trial, item.run
        if run is not None and run.ok and metric in run.metrics and not trial.layout.named:
            value, _ = run.metrics[metric]
            values.setdefault((trial.variant, trial.layout, trial.workload), []).append(value)
    for (variant, layout, workload), found in values.items():
        if len(found) > 1 and min(found) > 0:
            halves = (_mean(found), _mean(found[::2]), _mean(found[1::2]))
            yield Cell(variant, layout, workload, halves)


def _mean(values: Sequence[float]) -> float:
    """Geometric, as in all verdicts."""
    return float(np.exp(np.mean(np.log(values))))


def _check(name: str, cells: Sequence[Cell]) -> None:
    variants = dict.fromkeys(cell.variant.name for cell in cells)
    layouts = [len({c.layout for c in cells if c.variant.name == each}) for each in variants]
    if len(variants) < 2 or min(layouts) < _FEWEST_LAYOUTS:
        raise UserError(
            f"study {name}: a model is calibrated by two variants or more, each in "
            f"{_FEWEST_LAYOUTS} layouts or more with two runs or more, whose noise is then known; "
            f"finished are {sum(layouts)} layouts of {len(variants)} variants"
        )


def _same_kernels(
    name: str, counted: StudyResult, timed: StudyResult, cells: Sequence[Cell]
) -> dict[str, Kernel]:
    found = {}
    for variant in dict.fromkeys(cell.variant.name for cell in cells):
        one, other = counted.kernels.get(variant), timed.kernels.get(variant)
        if one is None or other is None:
            raise UserError(
                f"study {name}: the kernel of {variant!r} is not in the store any more: run the "
                "study again"
            )
        if one.key != other.key:
            raise UserError(f"study {name}: the machines measured different kernels of {variant!r}")
        found[variant] = one
    return found


def _users(counted: StudyResult) -> dict[str, float]:
    found = {}
    for item in counted.measured:
        if item.run is not None and item.run.ok:
            figures = {metric: value for metric, (value, _) in item.run.metrics.items()}
            found[item.trial.workload] = figures[USER_INSTRUCTIONS] / figures[KERNEL_INSTRUCTIONS]
    return found


def _counted(
    name: str, counted: StudyResult, baseline: str, workloads: set[str]
) -> dict[str, float]:
    """Of the baseline: what parts of traces are scaled by."""
    found, seen = {}, set()
    for item in counted.measured:
        trial, run = item.trial, item.run
        if run is not None and run.ok and trial.variant.name == baseline:
            key = _key(trial.variant, trial.layout, trial.workload)
            found[key], _ = run.metrics[MODEL_CYCLES]
            seen.add(trial.workload)
    if missing := workloads - seen:
        raise UserError(f"study {name}: tcg has not run {', '.join(sorted(missing))}")
    return found
