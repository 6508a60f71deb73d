# SPDX-License-Identifier: GPL-2.0-or-later
"""What binaries take on this processor, without a PMU and beside other load.

Each run does exactly the same work, cut into units of some hundred thousand cycles, which the
program times itself (`rdtscp`, guest/programs/program.c). The core's clock moves against that of
the time stamp counter, by several per cent within seconds; so before each unit a chain of
multiplications, which takes a known number of the core's cycles, tells how fast the core runs just
now, and units are told in cycles of the core. Runs of all binaries are interleaved, in an order
that is drawn anew each time. What disturbs a run (interrupts, other processes, a neighbour on the
same core) makes some units longer and none shorter, so a binary's estimate is the sum over units of
the shortest that any run had. What it cannot tell apart is told by two halves of the runs.
"""

from __future__ import annotations

import ctypes
import os
import random
import subprocess
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from kernsmith.errors import KernsmithError, UserError
from kernsmith.silicon.binaries import Binary

# Both here and in the guest the C library takes its plain routines: else it would choose by CPU.
TUNABLES = "glibc.cpu.hwcaps=-AVX,-AVX2,-AVX512F,-AVX512VL,-AVX512BW,-ERMS,-FSRM,-RTM,-BMI2"
_SECONDS = 60.0
_NO_RANDOM_ADDRESSES = 0x0040000


@dataclass(frozen=True)
class Timed:
    """A binary's cycles of the core.

    units: of shape (runs, units). sum: what the program computed, equal in all builds.
    """

    binary: Binary
    units: np.ndarray
    sum: str

    @property
    def cycles(self) -> float:
        """The estimate of all runs."""
        return _estimate(self.units)

    @property
    def halves(self) -> tuple[float, float]:
        """The estimates of the even and of the odd runs."""
        return _estimate(self.units[0::2]), _estimate(self.units[1::2])


def _estimate(units: np.ndarray) -> float:
    return float(units.min(axis=0).sum())


def time_binaries(
    binaries: Sequence[Binary],
    runs: int,
    told: Callable[[int], None] = lambda done: None,
    processor: int | None = None,
) -> list[Timed]:
    """Time binaries on one processor, interleaved. told: called with each round that is over.

    Raises:
        UserError: this processor's time stamp counter does not run evenly.
        KernsmithError: a program failed, or two builds of one computed different sums.
    """
    check_clock()
    processor = max(os.sched_getaffinity(0)) if processor is None else processor
    draw = random.Random("kernsmith silicon")
    rows: list[list[list[float]]] = [[] for _ in binaries]
    sums: dict[str, str] = {}
    # The first round only brings files and pages into memory.
    for number in range(-1, runs):
        places = list(range(len(binaries)))
        draw.shuffle(places)
        for place in places:
            binary = binaries[place]
            total, units = _run(binary.path, processor)
            if sums.setdefault(binary.program, total) != total:
                raise KernsmithError(
                    f"{binary.path.name} ({binary.build}) computed {total}, another build "
                    f"{sums[binary.program]}: it does other work and cannot be compared"
                )
            if number >= 0:
                rows[place].append(units)
        if number >= 0:
            told(number + 1)
    return [
        Timed(binary, np.array(units), sums[binary.program])
        for binary, units in zip(binaries, rows, strict=True)
    ]


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


def _run(path: Path, processor: int) -> tuple[str, list[float]]:
    """What a run computed, and the cycles of each of its units.

    Not by `kernsmith.process`: the program itself has to be started settled, without a supervisor.
    """
    try:
        done = subprocess.run(
            [path],
            env={"GLIBC_TUNABLES": TUNABLES},
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            preexec_fn=lambda: _settle(processor),
        )
    except subprocess.TimeoutExpired:
        raise KernsmithError(f"{path.name} did not end within {_SECONDS:g} s") from None
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
        raise KernsmithError(f"{path.name} failed: {done.stderr.strip() or done.returncode}")
    return total, in_core_cycles(units, chain[0], chain[1:])


def in_core_cycles(units: Sequence[int], length: int, chains: Sequence[int]) -> list[float]:
    """Units in cycles of the core, from ticks of the time stamp counter.

    length: cycles of a chain. chains: ticks of the one before each unit, and of the one behind the
        last. The shorter of both neighbours counts: what disturbs a chain makes it longer.
    """
    around = (min(pair) for pair in pairwise(chains))
    return [ticks * length / chain for ticks, chain in zip(units, around, strict=True)]


def _settle(processor: int) -> None:
    """Before the program starts: one processor, and the same stack addresses in every run."""
    os.sched_setaffinity(0, {processor})
    with suppress(PermissionError):  # before everybody else, where that is allowed
        os.setpriority(os.PRIO_PROCESS, 0, -20)
    ctypes.CDLL(None).personality(_NO_RANDOM_ADDRESSES)
