# SPDX-License-Identifier: GPL-2.0-or-later
"""Mixed kernels measured over random layouts: one link and one boot of each, and replays."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import log
from pathlib import Path
from statistics import fmean
from typing import Any, Protocol

from kernsmith.engine.function_costs import KEPT
from kernsmith.engine.object_costs import ObjectCosts, costs_by_object
from kernsmith.engine.replay import every_of
from kernsmith.engine.replayed import estimated
from kernsmith.errors import UserError
from kernsmith.guest.workloads import Workload
from kernsmith.kernel.link import whole_order
from kernsmith.kernel.mixed import Pair
from kernsmith.kernel.symbols import movable_functions, read_system_map
from kernsmith.layout import TracedText, TraceFile, random_order, read_link_map
from kernsmith.machine import Job, Machine, Outcome, run_once
from kernsmith.machine.metrics import MODEL_CYCLES


@dataclass(frozen=True)
class Measured:
    """What a mixed kernel costs.

    logs: mean logarithm of the metric over workloads, in each random layout. costs: by object, of
    each workload in the layout of the boot, where that was asked for. failure: why there is
    nothing.
    """

    logs: tuple[float, ...] = ()
    costs: tuple[ObjectCosts, ...] = ()
    failure: str = ""

    def as_plain(self) -> dict[str, Any]:
        """As what JSON can hold."""
        return asdict(self)

    @classmethod
    def read(cls, kept: Mapping[str, Any]) -> Measured:
        """What `as_plain` has made."""
        return cls(tuple(kept["logs"]), tuple(kept["costs"]), kept["failure"])


class MeasuresMixes(Protocol):
    """Measures mixed kernels; may be asked by several threads at once."""

    @property
    def workloads(self) -> tuple[Workload, ...]: ...
    @property
    def metric(self) -> str: ...
    @property
    def layouts(self) -> int: ...

    def identity(self) -> Any:
        """All that its figures depend on, as what JSON can hold."""
        ...

    def measure(
        self, pair: Pair, taken: Collection[str], folder: Path, *, by_object: bool
    ) -> Measured:
        """Make the good kernel with these objects of the bad one, and measure it.

        folder: the mixed kernel's own. by_object: whether costs by object are asked for.

        Raises:
            LinkFailed: the objects do not link.
        """
        ...


@dataclass(frozen=True)
class ReplaysMixes:
    """By replay on the machine that writes traces.

    layouts: how many random ones, the same of all mixed kernels: a kernel's functions are put into
        the same relative order in each.
    """

    machine: Machine
    workloads: tuple[Workload, ...]
    metric: str
    layouts: int
    seed: int

    def identity(self) -> Any:
        """Machine, workloads, metric and layouts."""
        amounts = [each.amount for each in self.workloads]
        return ["replay", self.machine.fingerprint(), amounts, self.metric, self.layouts, self.seed]

    @property
    def by(self) -> str:
        """The metric by which objects are told apart: of others a trace does not say whose."""
        return self.metric if self.metric in KEPT else MODEL_CYCLES

    def measure(
        self, pair: Pair, taken: Collection[str], folder: Path, *, by_object: bool
    ) -> Measured:
        """See `MeasuresMixes`. Images and traces are gone afterwards."""
        image = pair.link(taken, folder, with_map=True)
        try:
            return self._measure(pair, image, by_object=by_object)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _measure(self, pair: Pair, image: Path, *, by_object: bool) -> Measured:
        cpu, folder = self.machine.cpu, image.parent
        assert cpu is not None
        booted: list[Outcome] = []
        files: list[TraceFile] = []
        for workload in self.workloads:
            tag = f"{folder.name}/{workload.amount}"
            job = Job(workload, folder / workload.name, trace=tag, modules=pair.base.guest_archive)
            ran = run_once(self.machine, image, job)
            if not ran.ok or ran.trace is None:
                return Measured(failure=f"{workload.name}: {ran.status}: {ran.reason}")
            booted.append(ran)
            files.append(TraceFile(workload.name, ran.trace, tag))
        costs: tuple[ObjectCosts, ...] = ()
        if by_object:
            names = _Names(pair)
            costs = tuple(
                costs_by_object(file.path, cpu, folder, self.by, names.of) for file in files
            )
        return Measured(self._over_layouts(pair, folder, booted, files), costs)

    def _over_layouts(
        self,
        pair: Pair,
        folder: Path,
        booted: Sequence[Outcome],
        files: Sequence[TraceFile],
    ) -> tuple[float, ...]:
        cpu = self.machine.cpu
        assert cpu is not None
        traced = TracedText(read_link_map(folder / "map"), files)
        every = every_of(0, cpu, len(files))
        orders = [[], *orders_of(pair, self.seed, self.layouts)]
        found = traced.figures(
            [traced.text.arranged(order) for order in orders],
            cpu, every=every, displaced=None, threads=1,
        )  # fmt: skip
        default, *others = found
        logs = []
        for figures in others:
            values = (
                self._value(ran, counted, whole if every > 1 else None)
                for ran, counted, whole in zip(booted, figures, default, strict=True)
            )
            logs.append(fmean(map(log, values)))
        return tuple(logs)

    def _value(
        self, booted: Outcome, counted: Mapping[str, float], default: Mapping[str, float] | None
    ) -> float:
        value, _ = booted.metrics.get(self.metric, (0.0, ""))
        value = estimated(self.metric, value, counted, default)
        if not value > 0:
            raise UserError(f"a workload has no {self.metric} above 0 to compare")
        return value


def orders_of(pair: Pair, seed: int, count: int) -> list[list[str]]:
    """So many random orders of the functions that any mixed kernel may have."""
    maps = [read_system_map(kernel.system_map) for kernel in (pair.good, pair.bad)]
    functions = list(dict.fromkeys(name for each in maps for name in movable_functions(each)))
    drawn = (random_order(functions, f"{seed}.{number}") for number in range(count))
    return [whole_order(pair.base, order) for order in drawn]


class _Names:
    """Names of objects by their paths in a linker's map."""

    def __init__(self, pair: Pair) -> None:
        self._outputs = [f"{kernel.output}/" for kernel in (pair.good, pair.bad)]

    def of(self, path: str) -> str:
        for output in self._outputs:
            if path.startswith(output):
                return path.removeprefix(output)
        return path
