# SPDX-License-Identifier: GPL-2.0-or-later
"""The machine `uml`: kernel code on the processor that runs here, in time, without booting it.

An image is Linux for ARCH=um as a static program with the load inside (docs/silicon.md). The
binaries of a block are run by turns, on one processor, each run in memory of its own. What one
takes is the sum over the load's units of the shortest time of any run, in cycles of the core. Needs
no PMU, no KVM, no root.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from kernsmith.errors import KernsmithError, UserError
from kernsmith.files import write_text
from kernsmith.guest.workloads import Workload
from kernsmith.machine.conditions import Condition, conditions, throttled, throttling
from kernsmith.machine.metrics import (
    CORE_CYCLES,
    CORE_CYCLES_EVEN,
    CORE_CYCLES_ODD,
    VERSION,
    in_units,
    metric,
)
from kernsmith.machine.protocol import FAILED, OK, Boot, Images, Job, Kind, Metric, Outcome
from kernsmith.silicon.programs import program_tables
from kernsmith.silicon.shared_core import PATIENCE, Cores
from kernsmith.silicon.timing import (
    METHOD,
    RUN_SECONDS,
    TUNABLES,
    Run,
    check_clock,
    estimate,
    halves,
    ipc_file,
    last_processor,
    take_turns,
)
from kernsmith.study.study import DEFAULT_CPU, UML

RUNS = 25
"""Of each binary, where a study does not say it: half a minute for 17 layouts."""
# Among the conditions: what is another in every minute, and tells nothing of where a run was.
_MOMENTARY = frozenset({"load"})

ASSUMPTIONS = (
    "core_cycles are real: cycles of this processor's core, told by the time stamp counter and by "
    "chains of multiplications of known length before each unit of the load.",
    "Of each unit the shortest run counts: interrupts, cold caches and unlucky places of a run's "
    "memory are left out. The even and the odd runs alone tell how much noise remains.",
    "Runs are made while no neighbour has a part of the core, which two threads of it share, and "
    "while no hypervisor interrupts it often; where that was waited for in vain, the run's "
    "provenance says so (alone).",
    "It is kernel code in a process (ARCH=um): no entry code, no page tables, no large pages of "
    "text, one processor and no drivers. Copies from and to callers are plain.",
    "The load and what it asks of its host are compiled with the variant's flags, too, and are in "
    "its time.",
)


class Table(BaseModel):
    """[machine.settings] of the machine uml. processor: the number of the one to run on. patience:
    seconds for which a block waits for a core of its own."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    runs: int = Field(RUNS, ge=2, le=10_000)
    processor: int | None = Field(None, ge=0)
    time_limit: float = Field(RUN_SECONDS, gt=0)
    patience: float = Field(PATIENCE, ge=0)


@dataclass(frozen=True)
class Uml:
    """A processor of this host, and what it was like when the machine was opened.

    runs: of each binary, by turns with the others of its block. time_limit: of a run, in seconds.
    patience: for which a block waits for a core that nobody shares, in seconds.
    """

    processor: int
    conditions: tuple[Condition, ...]
    runs: int = RUNS
    time_limit: float = RUN_SECONDS
    patience: float = PATIENCE
    name: str = UML
    exact: bool = False
    apart: bool = False
    together: bool = True
    images: Images = "program"
    profiles: bool = False
    cpu: Path | None = None
    slots: int = 1

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """See `Machine`."""
        return tuple(map(metric, (CORE_CYCLES, CORE_CYCLES_EVEN, CORE_CYCLES_ODD)))

    @property
    def workloads(self) -> tuple[Workload, ...]:
        """The load that is linked into each image: one pass warms up, the next one is measured."""
        return (Workload(UML, (), program_tables()[UML].description, 1, 1, ()),)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """See `Machine`; with what this host does to times."""
        lasting = (each for each in self.conditions if each.name not in _MOMENTARY)
        return (*ASSUMPTIONS, *(_sentence(each.warning) for each in lasting if each.warning))

    def fingerprint(self, kernel: Path | None = None) -> Mapping[str, Any]:
        """The processor and all that is lasting of its conditions, and how times are taken."""
        lasting = {each.name: each.value for each in self.conditions if each.name not in _MOMENTARY}
        return {
            "metrics": VERSION,
            "turns": METHOD,
            "runs": self.runs,
            "tunables": TUNABLES,
            "conditions": lasting,
        }

    @contextmanager
    def open(self, image: Path, folder: Path) -> Iterator[UmlSession]:
        """A session of several images; nothing of it stays in `folder`."""
        yield UmlSession(self, image)


@dataclass
class UmlSession:
    """Programs that take turns. A boot is all the runs of one of them."""

    machine: Uml
    image: Path
    boots: list[Boot] = field(default_factory=list)

    def run(self, job: Job) -> Outcome:
        """A program alone."""
        return self.run_together([job])[0]

    def run_together(self, jobs: Sequence[Job]) -> Sequence[Outcome]:
        """See `Turns`. Programs of which two computed different sums did different work: all of
        them failed."""
        machine = self.machine
        images = [job.image or self.image for job in jobs]
        started = datetime.now(UTC).isoformat(timespec="milliseconds")
        before, heat = conditions(), throttled()
        failures: dict[int, str] = {}

        def failed(place: int, error: KernsmithError) -> None:
            failures[place] = str(error)

        cores = Cores([machine.processor], machine.patience, ipc_file(machine.processor))
        found = take_turns(images, machine.runs, cores, failed, limit=machine.time_limit)
        seen = {each.name: each.value for each in (*before, throttling(heat, throttled()))}
        told = {"conditions": seen, "processor": machine.processor, "together": len(jobs)}
        sums = {run.sum for runs in found for run in runs}
        if len(sums) > 1:
            different = f"the programs of this block computed different sums ({', '.join(sums)})"
            failures = dict.fromkeys(range(len(jobs)), different) | failures
        return [
            self._outcome(job, image, runs, failures.get(place, ""), started, told)
            for place, (job, image, runs) in enumerate(zip(jobs, images, found, strict=True))
        ]

    def _outcome(
        self,
        job: Job,
        image: Path,
        runs: Sequence[Run],
        failure: str,
        started: str,
        told: Mapping[str, Any],
    ) -> Outcome:
        console = job.folder / "console.log"
        write_text(console, "".join(run.said for run in runs) + failure)
        status = FAILED if failure else OK
        seconds = sum(run.seconds for run in runs)
        boot = Boot(len(self.boots), (str(image),), console, started, status, failure, seconds)
        self.boots.append(boot)
        figures = {} if failure else _figures(runs)
        own = dict(told) | {"alone": sum(run.alone for run in runs)}
        return Outcome(status, failure, figures, console, seconds, boot, provenance=own)


def _figures(runs: Sequence[Run]) -> dict[str, tuple[float, str]]:
    units = np.array([run.units for run in runs])
    even, odd = halves(units)
    found = {CORE_CYCLES: estimate(units), CORE_CYCLES_EVEN: even, CORE_CYCLES_ODD: odd}
    return in_units(found)


def _sentence(warning: str) -> str:
    return f"{warning[0].upper()}{warning[1:]}."


def open_machine(settings: Table | None = None) -> Uml:
    """The machine on a processor of this host.

    Raises:
        UserError: it cannot time programs, or there is no processor of that number.
    """
    settings = settings or Table.model_validate({})
    check_clock()
    allowed = sorted(os.sched_getaffinity(0))
    processor = last_processor() if settings.processor is None else settings.processor
    if processor not in allowed:
        raise UserError(
            f"machine.settings.processor: {processor} is none that programs may run on here: "
            f"allowed are {', '.join(map(str, allowed))}"
        )
    return Uml(processor, conditions(), settings.runs, settings.time_limit, settings.patience)


def _open(argument: str, cpu: str, settings: Table) -> Uml:
    if cpu not in ("", DEFAULT_CPU):  # what commands say when nobody names one
        raise UserError(
            f"machine.cpu: the machine {UML} runs on the processor that is here and simulates no "
            f"CPU model: leave {cpu} out"
        )
    return open_machine(settings)


KIND = Kind(UML, UML, Table, _open, images="program")
