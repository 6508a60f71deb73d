# SPDX-License-Identifier: GPL-2.0-or-later
"""Mixed kernels measured over random layouts: a link, a boot with each workload, and replays."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import log
from pathlib import Path
from statistics import fmean
from threading import Lock
from typing import Any, Protocol

from kernsmith.engine.function_costs import KEPT
from kernsmith.engine.object_costs import ObjectCosts, costs_by_object
from kernsmith.engine.replay import BATCH, every_of
from kernsmith.engine.replayed import estimated
from kernsmith.errors import UserError
from kernsmith.files import locked
from kernsmith.guest.workloads import Workload
from kernsmith.kernel.exchange import by_object as in_objects
from kernsmith.kernel.mixed import MIXED, Pair
from kernsmith.layout import Arrangement, Text, TracedText, TraceFile, read_link_map
from kernsmith.layout.slots import Slots, slots_for
from kernsmith.layout.traced import Figures
from kernsmith.machine import Job, Machine, Outcome, run_to_judge
from kernsmith.machine.metrics import MODEL_CYCLES
from kernsmith.stop import check_stop


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

    layouts: how many random ones. In each, all functions that two mixed kernels have in common lie
        at the same addresses (see `layout.slots`): how far they differ is by what differs in them.
    """

    machine: Machine
    workloads: tuple[Workload, ...]
    metric: str
    layouts: int
    seed: int

    def identity(self) -> Any:
        """Machine, workloads, metric and layouts."""
        amounts = [each.amount for each in self.workloads]
        return ["slots", self.machine.fingerprint(), amounts, self.metric, self.layouts, self.seed]

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
            # Mixed objects have two forms of functions.
            mixed = any(functions is not None for functions in in_objects(taken).values())
            return self._measure(pair, image, by_object=by_object, mixed=mixed)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _measure(self, pair: Pair, image: Path, *, by_object: bool, mixed: bool) -> Measured:
        cpu, folder = self.machine.cpu, image.parent
        assert cpu is not None
        booted: list[Outcome] = []
        files: list[TraceFile] = []
        for workload in self.workloads:
            tag = f"{folder.name}/{workload.amount}"
            job = Job(workload, folder / workload.name, trace=tag, modules=pair.base.guest_archive)
            ran = run_to_judge(self.machine, image, job)
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
        return Measured(self._over_layouts(pair, folder, booted, files, mixed=mixed), costs)

    def _over_layouts(
        self,
        pair: Pair,
        folder: Path,
        booted: Sequence[Outcome],
        files: Sequence[TraceFile],
        *,
        mixed: bool,
    ) -> tuple[float, ...]:
        cpu = self.machine.cpu
        assert cpu is not None
        text = read_link_map(folder / "map")
        every = every_of(0, cpu, len(files))

        def cost(text: Text, layouts: Sequence[Arrangement]) -> list[Figures]:
            traced, found = TracedText(text, files), []
            for at in range(0, len(layouts), BATCH):
                check_stop()
                few = layouts[at : at + BATCH]
                found += traced.figures(few, cpu, every=every, displaced=None, threads=1)
            return found

        default = cost(text, [Arrangement()])[0] if every > 1 else [None] * len(files)
        slots = self._slots(pair, folder.parent)
        filled = slots.filled(text, _Names(pair).of, more=mixed)
        drawn = [filled.shuffled(f"{self.seed}.{number}") for number in range(self.layouts)]
        logs = []
        for figures in cost(filled.text, drawn):
            values = map(self._value, booted, figures, default)
            logs.append(fmean(map(log, values)))
        return tuple(logs)

    def _slots(self, pair: Pair, state: Path) -> Slots:
        """For all mixed kernels: those of the good one, and of the one with all objects of the bad
        one. state: the folder of all of them, which keeps both maps."""
        maps = []
        for name, taken in (("good", ()), ("bad", pair.suspects)):
            path = state / f"{name}.map"
            with locked(path.with_suffix(".lock")):
                if not path.exists():
                    folder = state / f"map-{name}"
                    pair.link(taken, folder, with_map=True)
                    (folder / "map").replace(path)
                    shutil.rmtree(folder, ignore_errors=True)
            maps.append(path)
        return _slots_of(tuple(maps), _Names(pair))

    def _value(
        self, booted: Outcome, counted: Mapping[str, float], default: Mapping[str, float] | None
    ) -> float:
        value, _ = booted.metrics.get(self.metric, (0.0, ""))
        value = estimated(self.metric, value, counted, default)
        if not value > 0:
            raise UserError(f"a workload has no {self.metric} above 0 to compare")
        return value


@dataclass(frozen=True)
class _Names:
    """Names of objects by their paths in a linker's map."""

    pair: Pair

    def of(self, path: str) -> str:
        for kernel in (self.pair.good, self.pair.bad):
            if path.startswith(output := f"{kernel.output}/"):
                return path.removeprefix(output)
        return path.rpartition(f"/{MIXED}/")[2]


_reading = Lock()
_slots: dict[tuple[Path, ...], Slots] = {}


def _slots_of(maps: tuple[Path, ...], names: _Names) -> Slots:
    with _reading:
        if maps not in _slots:
            _slots[maps] = slots_for([read_link_map(path) for path in maps], names.of)
        return _slots[maps]
