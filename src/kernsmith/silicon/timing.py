# SPDX-License-Identifier: GPL-2.0-or-later
"""What binaries take on this processor, without a PMU and beside other load.

Each run does exactly the same work, cut into units of some hundred thousand cycles, which the
program times itself (`rdtscp`, guest/programs/program.c). The core's clock moves against that of
the time stamp counter, by several per cent within seconds; so before each unit a chain of
multiplications, which takes a known number of the core's cycles, tells how fast the core runs just
now, and units are told in cycles of the core. Runs of all binaries are interleaved, in an order
that is drawn anew each time. What disturbs a run (interrupts, other processes, other guests, and
caches and TLBs that are cold after them) makes some units longer, so a binary's estimate is the
sum over units of the shortest that was seen. A chain that is disturbed would make its unit too
short, so the core's speed is told by the shortest of six chains around it. What the estimate cannot
tell apart is told by two halves of the runs.

A neighbour on the other thread of the same core takes half of it for minutes, and a hypervisor may
interrupt a guest so often that no unit is without; no halves of the runs tell. So before and after
each run is asked how many instructions the core takes in a cycle, and how often it is interrupted
(`shared_core.py`), and runs are made while it takes as many as ever and is left in peace.

Where a file's pages lie in physical memory is luck, too, and that of the file: it is the same in
all runs of one. So each run is of a copy of its own.
"""

from __future__ import annotations

import ctypes
import os
import random
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from kernsmith import paths, process
from kernsmith.errors import KernsmithError, UserError
from kernsmith.silicon.binaries import Binary
from kernsmith.silicon.shared_core import PATIENCE, Cores, Quiet

# Both here and in the guest the C library takes its plain routines: else it would choose by CPU.
TUNABLES = "glibc.cpu.hwcaps=-AVX,-AVX2,-AVX512F,-AVX512VL,-AVX512BW,-ERMS,-FSRM,-RTM,-BMI2"
RUN_SECONDS = 60.0
"""The time limit of a run; one takes parts of a second."""
METHOD = 4
"""Of how binaries take turns and what is made of their times: a change that moves figures."""
_BESIDE = 3
"""Chains before a unit, and as many behind it, that tell how fast the core was."""
_NO_RANDOM_ADDRESSES = 0x0040000
# Of a processor with cores of several kinds, the numbers of one of these.
_KINDS = Path("/sys/devices/cpu_core/cpus")


@dataclass(frozen=True)
class Run:
    """What one run of a program told.

    sum: what it computed. units: cycles of the core of each. said: its whole output. alone: whether
        it had the core to itself and in peace, as far as was known then.
    """

    sum: str
    units: tuple[float, ...]
    said: str
    seconds: float
    alone: bool = True


@dataclass(frozen=True)
class Timed:
    """A binary's cycles of the core.

    units: of shape (runs, units). sum: what the program computed, equal in all builds. alone: runs
        that had the core to themselves and in peace.
    """

    binary: Binary
    units: np.ndarray
    sum: str
    alone: int

    @property
    def cycles(self) -> float:
        """The estimate of all runs."""
        return estimate(self.units)

    @property
    def halves(self) -> tuple[float, float]:
        """The estimates of the even and of the odd runs."""
        return halves(self.units)

    @property
    def disturbed(self) -> float:
        """By what part of its cycles the median over runs is longer than the estimate."""
        return float(np.median(self.units, axis=0).sum() / self.cycles - 1)


def estimate(units: np.ndarray) -> float:
    """What a binary takes: the sum over units of the shortest. units: of shape (runs, units)."""
    return float(units.min(axis=0).sum())


def halves(units: np.ndarray) -> tuple[float, float]:
    """The estimates of the even and of the odd runs."""
    return estimate(units[0::2]), estimate(units[1::2])


def time_binaries(
    binaries: Sequence[Binary],
    runs: int,
    told: Callable[[int], None] = lambda done: None,
    cores: Cores | None = None,
) -> list[Timed]:
    """Time binaries, interleaved. told: called with each round that is over. cores: where; without
    a word, on processors of this computer that are alike.

    Raises:
        UserError: this processor's time stamp counter does not run evenly.
        KernsmithError: a program failed, or two builds of one computed different sums.
    """
    check_clock()

    def failed(place: int, error: KernsmithError) -> None:
        raise error

    sums: dict[str, str] = {}
    timed = []
    programs = [binary.path for binary in binaries]
    found = take_turns(programs, runs, cores or all_cores(), failed, told=told)
    for binary, rows in zip(binaries, found, strict=True):
        for run in rows:
            if sums.setdefault(binary.program, run.sum) != run.sum:
                raise KernsmithError(
                    f"{binary.path.name} ({binary.build}) computed {run.sum}, another build "
                    f"{sums[binary.program]}: it does other work and cannot be compared"
                )
        units = np.array([run.units for run in rows])
        alone = sum(run.alone for run in rows)
        timed.append(Timed(binary, units, sums[binary.program], alone))
    return timed


def take_turns(
    programs: Sequence[Path],
    runs: int,
    cores: Cores,
    failed: Callable[[int, KernsmithError], None],
    *,
    told: Callable[[int], None] = lambda done: None,
    limit: float = RUN_SECONDS,
) -> list[list[Run]]:
    """Run programs one at a time, interleaved, in an order that each round draws anew.

    Each run is of a copy, which lies beside the program while it runs, on a core that nobody shares
    as long as there is patience to wait for one.

    failed: called with the number of a program that did not end well; it may raise, else that one
        takes no further turns. told: called with each round that is over. limit: of a run, in
        seconds.
    """
    draw = random.Random("kernsmith silicon")
    rows: list[list[tuple[Run, Quiet]]] = [[] for _ in programs]
    left = set(range(len(programs)))

    def one(place: int) -> Iterator[tuple[Run, Quiet]]:
        """A run; nothing when it failed."""
        try:
            while True:
                processor, before = cores.take()
                with copied(programs[place]) as copy:
                    run = _run(copy, processor, limit)
                quiet = before.worse(cores.quiet(processor))
                if cores.alone(quiet) or not cores.patient:
                    yield run, quiet
                    return
                cores.spend(run.seconds)
        except KernsmithError as error:
            left.discard(place)
            failed(place, error)

    # The first round only brings what programs need into memory.
    for number in range(-1, runs):
        places = list(range(len(programs)))
        draw.shuffle(places)
        for place in places:
            if place in left:
                made = list(one(place))
                rows[place] += made if number >= 0 else []
        if number >= 0:
            told(number + 1)
    for place, row in enumerate(rows):
        # What a core takes alone may have been seen only later.
        for again in [n for n, (_, quiet) in enumerate(row) if not cores.alone(quiet)]:
            if place in left and cores.patient:
                row[again : again + 1] = one(place)
    return [[replace(run, alone=cores.alone(quiet)) for run, quiet in row] for row in rows]


@contextmanager
def copied(program: Path) -> Iterator[Path]:
    """A file that holds a program, in pages of its own.

    Another process writes it: what a thread beside starts just then would inherit the open file,
    and none that somebody may write to can be started (ETXTBSY).
    """
    with tempfile.TemporaryDirectory(prefix=".copy-", dir=program.parent) as folder:
        copy = Path(folder, program.name)
        process.run(["cp", program, copy], timeout=RUN_SECONDS)
        yield copy


def last_processor() -> int:
    """The one that programs are timed on by default: the first is where most interrupts go."""
    return max(os.sched_getaffinity(0))


def all_cores(patience: float = PATIENCE, note: Callable[[str], None] = lambda text: None) -> Cores:
    """The last processor first. Where cores are of several kinds, that one alone."""
    processors = sorted(os.sched_getaffinity(0), reverse=True)
    if _KINDS.exists():
        processors = processors[:1]
    return Cores(processors, patience, ipc_file(processors[0]), note)


def ipc_file(processor: int) -> Path:
    """Where the most is kept that a core was seen to take: one for all, or for each where cores are
    of several kinds."""
    own = f"-{processor}" if _KINDS.exists() else ""
    return paths.cache_root() / "programs" / f"ipc-{processor_file_name()}{own}"


def processor_file_name() -> str:
    """The processor's name, as files have it."""
    return re.sub(r"[^A-Za-z0-9]+", "-", processor_name()).strip("-")


def check_clock(cpuinfo: Path = Path("/proc/cpuinfo")) -> None:
    """Raises UserError when this processor's time stamp counter is not invariant."""
    text = cpuinfo.read_text()
    flags = set(text.partition("\nflags")[2].partition("\n")[0].split())
    missing = {"constant_tsc", "nonstop_tsc", "rdtscp"} - flags
    if missing:
        raise UserError(
            "this processor's time stamp counter cannot time programs: /proc/cpuinfo lacks "
            + ", ".join(sorted(missing))
        )


def processor_name(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """What the processor calls itself, with its family, model and stepping."""
    lines = (line.partition(":") for line in cpuinfo.read_text().splitlines())
    fields = {key.strip(): value.strip() for key, _, value in lines}
    numbers = "-".join(fields.get(key, "?") for key in ("cpu family", "model", "stepping"))
    return f"{fields.get('model name', 'unknown')} ({numbers})"


def _run(path: Path, processor: int, limit: float) -> Run:
    """Run a program once.

    Not by `kernsmith.process`: the program itself has to be started settled, without a supervisor.
    """
    began = time.monotonic()
    try:
        done = subprocess.run(
            [path],
            env={"GLIBC_TUNABLES": TUNABLES},
            capture_output=True,
            text=True,
            timeout=limit,
            preexec_fn=lambda: settle(processor),
        )
    except subprocess.TimeoutExpired:
        raise KernsmithError(f"{path.name} did not end within {limit:g} s") from None
    total = ""
    chain: list[int] = []
    units: list[int] = []
    for line in done.stdout.splitlines():
        word, _, rest = line.removeprefix("kernsmith: ").partition(" ")
        if word == "sum":
            total = rest
        elif word == "chain":
            chain = [int(number) for number in rest.split()]
        elif word == "units":
            units = [int(ticks) for ticks in rest.split()]
    if done.returncode or not units or len(chain) != len(units) + 2:
        raise KernsmithError(f"{path.name} failed: {done.stderr.strip() or _how(done.returncode)}")
    cycles = in_core_cycles(units, chain[0], chain[1:])
    return Run(total, tuple(cycles), done.stdout, time.monotonic() - began)


def _how(code: int) -> str:
    if code != -signal.SIGILL:
        return f"signal {-code}" if code < 0 else f"exit code {code}"
    return "signal 4: it has instructions that this processor has not"


def in_core_cycles(units: Sequence[int], length: int, chains: Sequence[int]) -> list[float]:
    """Units in cycles of the core, from ticks of the time stamp counter.

    length: cycles of a chain. chains: ticks of the one before each unit, and of the one behind the
        last. The shortest of those around a unit counts: what disturbs a chain makes it longer.
    """
    return [
        ticks * length / min(chains[max(0, place + 1 - _BESIDE) : place + 1 + _BESIDE])
        for place, ticks in enumerate(units)
    ]


def settle(processor: int) -> None:
    """Before the program starts: one processor, and the same stack addresses in every run."""
    os.sched_setaffinity(0, {processor})
    with suppress(PermissionError):  # before everybody else, where that is allowed
        os.setpriority(os.PRIO_PROCESS, 0, -20)
    ctypes.CDLL(None).personality(_NO_RANDOM_ADDRESSES)
