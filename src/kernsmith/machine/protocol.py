# SPDX-License-Identifier: GPL-2.0-or-later
"""What a machine is: a place that opens sessions on an image, in which workloads run.

A new machine is one module of this package with one name in it, `KIND`: a `Kind`, which says how a
study names the machine, what its study file may set, and how it is opened to a `Machine`. That
brings

- its fingerprint: all that its figures depend on, by content, with no path of this computer;
- its slots (how many sessions at once), and whether runs keep `apart` in them;
- its metrics, each with its unit, direction and meaning, and sentences for the report about what
  its figures presume;
- what its images are, whose workloads run in them, and whether the images of a block take turns;
- `open`, which gives a `Session` on an image.

Nothing else in the program knows machines by name, but where profiles and traces come from `tcg`,
and what a study takes unsaid on `uml` (`study.unsaid`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

from pydantic import BaseModel

from kernsmith.guest.own_metric import Better
from kernsmith.guest.workloads import Workload
from kernsmith.kernel.drivers import Needed

Placement = Mapping[str, Mapping[str, int]]
"""Where modules are: by module and section, the address of the first byte."""

OK = "ok"
PANIC = "panic"
HANG = "hang"
FAILED = "failed"
LOST = "lost"
"""In the provenance of a run that the machine itself has ended, and not what ran on it: how."""

Images = Literal["kernel", "program"]
"""What runs: a `kernel` that is booted; or a `program` of the host's, which is a kernel inside
(User-Mode Linux): compiled from the same source, linked and started in another way."""


@dataclass(frozen=True)
class Job:
    """One run in a session: a workload, and a folder for what comes out.

    profile: also write the exact branch counts (only where `Machine.profiles`).
    trace: also write the sequence of executed blocks, with this word in it that says of what it
        is; empty writes none (only where `Machine.profiles`).
    user: count user mode as well (only where `Machine.profiles`).
    counted: whether anybody asks for its figures; where not, a machine that would have to simulate
        for them does not, and a run that ended well has none.
    program: whose functions code is named by in place of the kernel's, whose own is named by
        address then (see docs/model.md).
    words: put behind the kernel's command line.
    memory: also write this span of the guest's memory (the first address, and the one behind the
        last), as it was when the region began and when it ended (only where `Machine.profiles`).
    called: also write the arguments of the kernel's functions at these addresses, with how often
        they were called with them in the region (only where `Machine.profiles`).
    modules: the archive of the kernel's modules, which are loaded before the workload begins; None:
        there are none (see `kernel.modules`).
    name: tells this run from all others, in all ledgers and on all machines; empty: nothing of it
        is looked for again.
    image: what it runs on, where a session has several (`Machine.together`); None: the session's.
    """

    workload: Workload
    folder: Path
    replicate: int = 0
    profile: bool = False
    trace: str = ""
    user: bool = False
    counted: bool = True
    program: Path | None = None
    words: tuple[str, ...] = ()
    memory: tuple[int, int] | None = None
    called: tuple[int, ...] = ()
    modules: Path | None = None
    image: Path | None = None
    name: str = ""


@dataclass(frozen=True)
class Boot:
    """One boot of a session's image. All runs in it refer to it.

    number: counts the boots of a session, from 0.
    status, reason: how it ended, as in `Outcome`; wall_seconds: from start to end. An empty
        status and None while it is up.
    """

    number: int
    command: tuple[str, ...]
    console: Path
    started_at: str
    status: str = ""
    reason: str = ""
    wall_seconds: float | None = None


@dataclass(frozen=True)
class Outcome:
    """How a run ended.

    status: `ok`, `panic` (the kernel died), `hang` (its time limit passed) or `failed` (the
        workload reported an error, or the machine itself did).
    reason: one sentence; empty when ok.
    metrics: the region of interest in figures, each with its unit.
    console: the file with all that the guest printed.
    boot: the boot that it ran in.
    counts: branch counts, when they were asked for.
    trace: the executed blocks, when they were asked for.
    memory: the span of memory twice, when it was asked for.
    values: the arguments of functions, when they were asked for.
    modules: by the name of each module that was loaded, the addresses of its sections.
    provenance: JSON-able; what the machine was like meanwhile, where that varies.
    """

    status: str
    reason: str
    metrics: Mapping[str, tuple[float, str]]
    console: Path
    wall_seconds: float
    boot: Boot
    counts: Path | None = None
    trace: Path | None = None
    memory: Path | None = None
    values: Path | None = None
    modules: Placement = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether there are metrics to believe."""
        return self.status == OK

    @property
    def lost(self) -> bool:
        """Whether it was the machine that failed, as an emulator that was killed, and not what ran
        on it: such an end says nothing of the kernel."""
        return LOST in self.provenance


class Session(Protocol):
    """A machine with one image. Used by one thread."""

    def run(self, job: Job) -> Outcome:
        """Run a workload to its end, and return what was measured.

        Boots when that is needed: at the first run, after a boot that died, or, where the machine
        keeps runs apart, every time. Bad ends are outcomes; only what no other run could do
        either (a missing program, a full disk) is an exception.
        """
        ...

    @property
    def boots(self) -> Sequence[Boot]:
        """All boots so far. When the session is closed, each has its end."""
        ...


@runtime_checkable
class Turns(Protocol):
    """What the session of a machine with `together` is besides."""

    def run_together(self, jobs: Sequence[Job]) -> Sequence[Outcome]:
        """Run them all, by turns, and return what each has measured, in their order."""
        ...


@runtime_checkable
class Choosy(Protocol):
    """What a machine is besides that does not run every workload."""

    def refusal(self, workload: Workload) -> str:
        """Why it cannot run this workload, in a sentence; empty where it can."""
        ...


@runtime_checkable
class Driven(Protocol):
    """What a machine is besides that has hardware of its own, which its kernels must drive."""

    @property
    def needed(self) -> tuple[Needed, ...]:
        """By which drivers; as far as it is known."""
        ...


@runtime_checkable
class Unattended(Protocol):
    """What a machine is besides that may need somebody to switch it off and on."""

    @property
    def hangs_stay(self) -> bool:
        """Whether a run that hung is not tried again."""
        ...


@runtime_checkable
class Carried(Protocol):
    """What a machine is besides that kernsmith does not run beside: it goes through a folder alone,
    and opens no sessions."""

    def pack(self, visits: Sequence[tuple[Path, Sequence[Job]]], folder: Path) -> None:
        """Write a folder with boots in their order, each an image and the jobs in it; a job's name
        tells what came of it."""
        ...

    def unpack(self, folder: Path) -> Iterator[tuple[str, Outcome]]:
        """What came of jobs, by name, of all that have begun and whose end is known.

        Raises:
            UserError: it is no such folder, or another computer's.
        """
        ...


class Machine(Protocol):
    """Where kernels boot. Its methods may be called by several threads.

    name: what a study calls it: `tcg`, `ssh:HOST`.
    exact: repeated runs give equal metrics, so one replicate says it all and an earlier run of
        the same trial may be taken over from the ledger.
    apart: every run of a session has a boot of its own, so that runs of one image need not stand
        next to each other.
    together: all runs of a block are one session's, which does them by turns (`Turns`): what
        disturbs one for a while disturbs the others as well.
    images: see `Images`.
    workloads: those that are in its images and run nowhere else; empty: those of guest programs.
    profiles: it can write exact branch counts and traces.
    cpu: the file of the CPU model that traces are replayed through; None where it writes none.
    slots: how many sessions may be open at once without changing each other's figures.
    metrics: what it measures.
    assumptions: what its figures presume, a sentence each, for reports.
    """

    @property
    def name(self) -> str: ...
    @property
    def exact(self) -> bool: ...
    @property
    def apart(self) -> bool: ...
    @property
    def together(self) -> bool: ...
    @property
    def images(self) -> Images: ...
    @property
    def workloads(self) -> tuple[Workload, ...]: ...
    @property
    def profiles(self) -> bool: ...
    @property
    def cpu(self) -> Path | None: ...
    @property
    def slots(self) -> int: ...
    @property
    def metrics(self) -> tuple[Metric, ...]: ...
    @property
    def assumptions(self) -> tuple[str, ...]: ...

    def fingerprint(self, kernel: Path | None = None) -> Mapping[str, Any]:
        """JSON-able: everything of this machine that a run's metrics depend on.

        kernel: what boots, where the machine tells one kernel what it does not tell another.
        """
        ...

    def open(self, image: Path, folder: Path) -> AbstractContextManager[Session]:
        """A session on an image; it ends with the block, and so do its boots.

        folder: for what belongs to the session, not to one of its runs; the machine creates it.
        """
        ...


@dataclass(frozen=True)
class Kind:
    """A kind of machines: what its module gives.

    name: of the kind, and of the module. usage: how a study names a machine of it (`ssh:HOST`).
    table: what `[machine.settings]` of a study file may hold.
    open: called with what stands behind the colon (`HOST`; empty without), the study's CPU model,
        and the settings as a value of `table`.
    images: what its machines run (see `Images`).
    """

    name: str
    usage: str
    table: type[BaseModel]
    open: Callable[[str, str, Any], Machine]
    images: Images = "kernel"


Meaning = Literal["counted", "modelled", "virtual", "real"]
"""What a figure is of: `counted` events of the execution itself; events that a CPU model is
`modelled` to have had; time of a `virtual` clock, which is a count of instructions in other words;
or time of a `real` clock."""


@dataclass(frozen=True)
class Metric:
    """A named figure with its unit; headlines are what tables show first.

    better: whether less of it is good, as of time, or more, as of throughput.
    meaning: what it is a figure of. Figures of two meanings never share a name.
    """

    name: str
    unit: str
    description: str
    meaning: Meaning
    headline: bool = False
    better: Better = "lower"
