# SPDX-License-Identifier: GPL-2.0-or-later
"""The metric `least_cycles`: of real machines' runs, part by part the least (`machine.chunks`).

It is no figure of a run alone: those of one boot, of one kernel in one layout with one workload,
are taken together. So the ledger has the parts, and whoever reads a study's runs adds the metric.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

from kernsmith.ledger.rows import RunRow
from kernsmith.machine.chunks import by_halves
from kernsmith.machine.metrics import CHUNKS, LEAST_CYCLES, metric


def with_least(runs: Sequence[tuple[Hashable, int, RunRow | None]]) -> list[RunRow | None]:
    """The same runs in their order; those with parts have the metric.

    runs: each with what it is a run of (variant, layout, workload), and its number among the like.
    """
    groups: dict[Hashable, list[int]] = {}
    for place, (of, _, run) in enumerate(runs):
        if run is not None and run.ok and run.provenance.get(CHUNKS):
            groups.setdefault((of, run.boot), []).append(place)
    found = [run for _, _, run in runs]
    for places in groups.values():
        places.sort(key=lambda place: runs[place][1])
        alike = [run for place in places if (run := found[place]) is not None]
        estimates = by_halves([run.provenance[CHUNKS] for run in alike])
        for place, run, ticks in zip(places, alike, estimates, strict=True):
            if ticks is not None:
                figures = {**run.metrics, LEAST_CYCLES: (ticks, metric(LEAST_CYCLES).unit)}
                found[place] = replace(run, metrics=figures)
    return found
