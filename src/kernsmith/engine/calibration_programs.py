# SPDX-License-Identifier: GPL-2.0-or-later
"""Calibrating by programs of `kernsmith silicon`: their times here, windows of their traces."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from kernsmith._native import WarmTrace
from kernsmith.engine.calibration import Timed
from kernsmith.engine.events import Events
from kernsmith.engine.silicon import Row, Simulated
from kernsmith.machine.metrics import MODEL_CYCLES
from kernsmith.silicon.builds import BASELINE
from kernsmith.stats.calibration import Case
from kernsmith.threads import each_of, threads

EVERY = 16
"""One of so many windows of each trace is simulated with other times."""


def timed_programs(
    rows: Sequence[Row], binaries: Mapping[str, Simulated], modelled: Sequence[float]
) -> list[Timed]:
    """The binaries in the order of their rows, with what was measured and modelled of each; the key
    is the path of its trace.

    binaries: by digest, with their traces. modelled: cycles of each row.
    """
    found = []
    for row, cycles in zip(rows, modelled, strict=True):
        one = binaries[row.digest]
        assert one.trace is not None
        case = Case(row.program, row.build, row.build == BASELINE, row.cycles)
        found.append(Timed(case, str(one.trace), cycles))
    return found


class WarmTraces:
    """Simulates programs with other times: `calibration.Simulate`.

    A core's state before each window is that of one that has gone through all of the trace before:
    one that sees a sixteenth of it alone mispredicts two to seven times as many branches
    (docs/silicon.md). It depends on no time that is calibrated, so it is worked out once; some
    13 MB of each trace are kept in memory.
    """

    def __init__(self, cpu: Path, traces: Sequence[str], events: Events) -> None:
        """Go through the traces. cpu: the model that calibration begins with."""
        events.stage(f"go through {len(traces)} traces")

        def one(path: str) -> WarmTrace:
            return WarmTrace(path, cpu, EVERY)

        names = list(dict.fromkeys(traces))
        with threads(os.cpu_count() or 1) as pool:
            warm = each_of(pool, one, names, lambda done, of: events.progress("traces", done, of))
        self._warm = dict(zip(names, warm, strict=True))

    def __call__(self, timed: Sequence[Timed], cpus: Sequence[Path]) -> np.ndarray:
        """Cycles of each trace's windows, in user mode. Shape: (cpus, timed)."""
        found = np.empty((len(cpus), len(timed)))

        def one(number: int) -> None:
            costs = self._warm[timed[number].key].costs(cpus)
            found[:, number] = [modes[0][MODEL_CYCLES] for modes in costs]

        with threads(os.cpu_count() or 1) as pool:
            each_of(pool, one, range(len(timed)))
        return found
