# SPDX-License-Identifier: GPL-2.0-or-later
"""The noise of machines that take each time twice: what two halves of the runs do not agree on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernsmith.document import NoiseView, RunView
from kernsmith.machine.metrics import CORE_CYCLES, CORE_CYCLES_EVEN, CORE_CYCLES_ODD
from kernsmith.stats.agreement import spearman

# With fewer layouts a rank correlation says nothing.
_RANKED = 4


def find_noise(runs: Sequence[RunView]) -> tuple[NoiseView, ...]:
    """Of each variant, in the order of the runs; empty where times were not taken twice."""
    by_variant: dict[str, list[RunView]] = {}
    for run in runs:
        if {CORE_CYCLES_EVEN, CORE_CYCLES_ODD} <= run.metrics.keys():
            by_variant.setdefault(run.variant, []).append(run)
    return tuple(_noise(variant, some) for variant, some in sorted(by_variant.items()))


def _noise(variant: str, runs: Sequence[RunView]) -> NoiseView:
    even, odd = _logs(runs, CORE_CYCLES_EVEN), _logs(runs, CORE_CYCLES_ODD)
    apart = 100 * np.abs(np.expm1(even - odd))
    drawn = np.array([run.layout != "default" for run in runs])
    whole = _logs(runs, CORE_CYCLES)[drawn]
    return NoiseView(
        variant=variant,
        metric=CORE_CYCLES,
        runs=len(runs),
        median=float(np.median(apart)),
        most=float(apart.max()),
        spread=100 * float(whole.std(ddof=1)) if len(whole) > 1 else None,
        agreement=spearman(even[drawn], odd[drawn]) if len(whole) >= _RANKED else None,
    )


def _logs(runs: Sequence[RunView], metric: str) -> np.ndarray:
    return np.log([run.metrics[metric] for run in runs])
