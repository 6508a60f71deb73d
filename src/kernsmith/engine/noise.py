# SPDX-License-Identifier: GPL-2.0-or-later
"""The noise of real times: what two halves of the runs do not agree on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kernsmith.document import NoiseView, RunView
from kernsmith.machine.metrics import CORE_CYCLES, CORE_CYCLES_EVEN, CORE_CYCLES_ODD
from kernsmith.stats.agreement import spearman

# With fewer layouts a rank correlation says nothing.
_RANKED = 4


@dataclass(frozen=True)
class _Taken:
    """A variant in a layout, by all runs and by either half: logarithms, means over workloads."""

    layout: str
    whole: float
    even: float
    odd: float


def find_noise(runs: Sequence[RunView], metric: str = "") -> tuple[NoiseView, ...]:
    """Of each variant; empty where times were not taken twice.

    metric: of a machine whose runs differ: halves are of a layout's runs, where there are several;
        empty: only of times that each run has by halves itself.
    """
    names = sorted({run.variant for run in runs})
    by_itself = {name: _by_itself([run for run in runs if run.variant == name]) for name in names}
    if any(by_itself.values()):
        return tuple(_noise(name, CORE_CYCLES, some) for name, some in by_itself.items() if some)
    if not metric:
        return ()
    repeated = {name: _repeated([r for r in runs if r.variant == name], metric) for name in names}
    return tuple(_noise(name, metric, some) for name, some in repeated.items() if some)


def _by_itself(runs: Sequence[RunView]) -> list[_Taken]:
    """Of runs that have taken their time twice."""
    names = (CORE_CYCLES, CORE_CYCLES_EVEN, CORE_CYCLES_ODD)
    return [
        _Taken(run.layout, *(float(np.log(run.metrics[name])) for name in names))
        for run in runs
        if set(names) <= run.metrics.keys()
    ]


def _repeated(runs: Sequence[RunView], metric: str) -> list[_Taken]:
    """Of layouts in which each workload was run several times."""
    cells: dict[str, dict[str, list[float]]] = {}
    for run in sorted(runs, key=lambda run: run.replicate):
        if run.metrics.get(metric, 0.0) > 0:
            cell = cells.setdefault(run.layout, {}).setdefault(run.workload, [])
            cell.append(float(np.log(run.metrics[metric])))
    return [
        _Taken(
            layout,
            _mean(list(cell.values())),
            _mean([values[::2] for values in cell.values()]),
            _mean([values[1::2] for values in cell.values()]),
        )
        for layout, cell in cells.items()
        if min(map(len, cell.values())) > 1
    ]


def _mean(workloads: Sequence[Sequence[float]]) -> float:
    return float(np.mean([np.mean(values) for values in workloads]))


def _noise(variant: str, metric: str, taken: Sequence[_Taken]) -> NoiseView:
    even, odd = np.array([each.even for each in taken]), np.array([each.odd for each in taken])
    apart = 100 * np.abs(np.expm1(even - odd))
    drawn = np.array([each.layout != "default" for each in taken])
    whole = np.array([each.whole for each in taken])[drawn]
    return NoiseView(
        variant=variant,
        metric=metric,
        runs=len(taken),
        median=float(np.median(apart)),
        most=float(apart.max()),
        spread=100 * float(whole.std(ddof=1)) if len(whole) > 1 else None,
        agreement=spearman(even[drawn], odd[drawn]) if len(whole) >= _RANKED else None,
    )
