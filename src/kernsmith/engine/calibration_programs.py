# SPDX-License-Identifier: GPL-2.0-or-later
"""Calibrating by programs of `kernsmith silicon`: their times here, parts of their traces."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from kernsmith._native import trace_costs
from kernsmith.engine.calibration import Timed
from kernsmith.engine.silicon import Row, Simulated
from kernsmith.machine.metrics import MODEL_CYCLES
from kernsmith.silicon.builds import BASELINE
from kernsmith.stats.calibration import Case
from kernsmith.threads import each_of, threads


def timed_programs(rows: Sequence[Row], binaries: Mapping[str, Simulated]) -> list[Timed]:
    """The binaries in the order of their rows, with what was measured and modelled of each; the key
    is the path of the part of its trace.

    binaries: by digest, with such parts.
    """
    found = []
    for row in rows:
        one = binaries[row.digest]
        assert one.part is not None
        case = Case(row.program, row.build, row.build == BASELINE, row.cycles)
        found.append(Timed(case, str(one.part), one.counters[MODEL_CYCLES]))
    return found


def simulate_parts(timed: Sequence[Timed], cpus: Sequence[Path]) -> np.ndarray:
    """See `calibration.Simulate`: user mode of each part."""
    found = np.empty((len(cpus), len(timed)))

    def one(number: int) -> None:
        costs = trace_costs(timed[number].key, cpus)
        found[:, number] = [modes[0][MODEL_CYCLES] for modes in costs]

    with threads(os.cpu_count() or 1) as pool:
        each_of(pool, one, range(len(timed)))
    return found
