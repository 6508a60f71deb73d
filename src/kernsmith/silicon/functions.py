# SPDX-License-Identifier: GPL-2.0-or-later
"""Which functions a program's cycles are of, on this processor and in a CPU model.

Here a timer of the system asks every 50 microseconds which instruction is executed (`perf record`,
event `cpu-clock`), which needs no PMU. What it finds is the oldest instruction that is not done, or
the one behind it, so samples lie where cycles are spent. Runs are made anew where a neighbour had
the other thread of the core, as long as there is patience: what that takes away is not the same for
all code.

In the model a block's cycles are those until all of it is dispatched: what fetch or a target waits
for is of the function that is waited for.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from pathlib import Path

from kernsmith._native import program_functions
from kernsmith.errors import KernsmithError, UserError
from kernsmith.kernel.symbols import code_symbols
from kernsmith.machine.metrics import KERNEL_INSTRUCTIONS, MODEL_CYCLES
from kernsmith.process import run
from kernsmith.silicon.shared_core import Cores
from kernsmith.silicon.timing import RUN_SECONDS, TUNABLES, copied, settle

PERIOD = 50_000
"""Nanoseconds between samples."""
CLOCK = "main"
"""The function that has the chains by which the core's clock is known: no work of the program's."""


@dataclass(frozen=True)
class FunctionTime:
    """A function of a program.

    instructions: executed. here, model: its cycles. samples: that found it here.
    """

    name: str
    instructions: int
    here: float
    model: float
    samples: int

    @property
    def error(self) -> float:
        """Of `here`, by how many samples there are: one standard deviation, in cycles."""
        return self.here / sqrt(self.samples) if self.samples else 0.0


def sample(program: Path, runs: int, cores: Cores) -> Counter[int]:
    """How often each address in user mode was found, in so many runs.

    Raises:
        UserError: `perf` is not there. KernsmithError: it or the program failed, or nothing was
            found.
    """
    found: Counter[int] = Counter()
    for _ in range(runs):
        while True:
            processor, before = cores.take()
            began = time.monotonic()
            with copied(program) as copy:
                addresses = _sampled(copy, processor)
            alone = cores.alone(before.worse(cores.quiet(processor)))
            if alone or not cores.patient:
                break
            cores.spend(time.monotonic() - began)
        found.update(addresses)
    if not found:
        raise KernsmithError(f"perf record found {program.name} nowhere in {runs} runs")
    return found


def _sampled(program: Path, processor: int) -> list[int]:
    """The addresses that one run is found at."""
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder, "perf.data")
        words = ["perf", "record", "-q", "-e", "cpu-clock:u", "-c", str(PERIOD), "-o", str(data)]
        try:
            done = subprocess.run(
                [*words, "--", str(program)],
                env={"GLIBC_TUNABLES": TUNABLES, "PATH": os.environ.get("PATH", os.defpath)},
                capture_output=True,
                text=True,
                timeout=RUN_SECONDS,
                preexec_fn=lambda: settle(processor),
            )
        except FileNotFoundError:
            raise UserError("`perf` is not installed (Debian: linux-perf)") from None
        except subprocess.TimeoutExpired:
            raise KernsmithError(f"{program.name} did not end within {RUN_SECONDS:g} s") from None
        if done.returncode:
            raise KernsmithError(f"perf record {program.name}: {done.stderr.strip()}")
        said = run(["perf", "script", "-i", str(data), "-F", "ip"], timeout=RUN_SECONDS).output
    return [int(word, 16) for word in said.split()]


def function_times(
    program: Path, trace: Path, cpu: Path, samples: Mapping[int, int], cycles: float
) -> list[FunctionTime]:
    """By function, those first that the model is farthest off.

    trace, cpu: of the same file, and the model. samples: see `sample`. cycles: that the program
    takes here; its functions' are in the ratio of their samples.
    """
    functions = _functions(program)
    starts, names = list(functions), list(functions.values())
    seen: Counter[str] = Counter()
    for address, count in samples.items():
        place = bisect_right(starts, address) - 1
        if place >= 0:
            seen[names[place]] += count
    model: defaultdict[str, float] = defaultdict(float)
    instructions: Counter[str] = Counter()
    for part, figures in program_functions(trace, cpu, starts):
        model[names[part]] += figures[MODEL_CYCLES]
        instructions[names[part]] += int(figures[KERNEL_INSTRUCTIONS])
    seen.pop(CLOCK, None)
    each = cycles / max(seen.total(), 1)
    found = [
        FunctionTime(name, instructions[name], seen[name] * each, model[name], seen[name])
        for name in (seen.keys() | model.keys()) - {CLOCK}
    ]
    return sorted(found, key=lambda one: (-abs(one.here - one.model), one.name))


def misplaced(functions: list[FunctionTime]) -> float:
    """The share of all cycles that the model has in other functions than the processor, when both
    have as many in all."""
    here, model = sum(one.here for one in functions), sum(one.model for one in functions)
    return sum(abs(one.here / here - one.model / model) for one in functions) / 2


def _functions(program: Path) -> dict[int, str]:
    """Names by address, in their order."""
    words = ["nm", "--print-size", "--defined-only", str(program)]
    found: dict[int, str] = {}
    for symbol in code_symbols(run(words, timeout=RUN_SECONDS).output):
        found.setdefault(symbol.address, symbol.name)
    return found
