# SPDX-License-Identifier: GPL-2.0-or-later
"""Replays held against boots of the same layouts: what was predicted beside what was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import nan

from kernsmith.engine.trial_rows import CHECKED
from kernsmith.ledger import RunRow
from kernsmith.machine.metrics import MODEL_CYCLES
from kernsmith.stats.means import geometric_mean
from kernsmith.study import Trial

LIMIT = 0.5
"""A layout's `model_cycles` over all workloads may be so many per cent apart."""


@dataclass(frozen=True)
class Replicated:
    """A replayed trial and the run of the same layout that was booted, if there is one."""

    trial: Trial
    replayed: RunRow
    booted: RunRow | None


@dataclass(frozen=True)
class Check:
    """A layout of a variant that was replayed and booted.

    workloads: `model_cycles`, predicted and measured, of those whose boot ended well.
    missing: those whose boot did not.
    """

    variant: str
    layout: str
    workloads: Mapping[str, tuple[float, float]]
    missing: tuple[str, ...] = ()

    @property
    def predicted(self) -> float:
        """Geometric mean over workloads; NaN without one."""
        return _mean([predicted for predicted, _ in self.workloads.values()])

    @property
    def measured(self) -> float:
        """Geometric mean over workloads; NaN without one."""
        return _mean([measured for _, measured in self.workloads.values()])

    @property
    def error(self) -> float:
        """By how many per cent the prediction is above what was measured."""
        return 100 * (self.predicted / self.measured - 1)

    @property
    def holds(self) -> bool:
        """Whether every workload was booted and all together are as predicted."""
        return not self.missing and abs(self.error) <= LIMIT

    @property
    def sentence(self) -> str:
        """What is wrong."""
        what = f"the replayed layout {self.layout} of {self.variant}"
        if self.missing:
            return f"{what} could not be checked by booting: no run of {', '.join(self.missing)}"
        return (
            f"{what} is not what booting it gives: predicted {self.predicted:.0f} cycles, measured "
            f"{self.measured:.0f}, which is {self.error:+.2f} % and more than {LIMIT:g} %: do not "
            "believe its replays, use --layouts-by boot"
        )


def find_checks(pairs: Sequence[Replicated]) -> tuple[Check, ...]:
    """A check for each layout that is to be checked, in the order of the trials."""
    cells: dict[tuple[str, str], list[Replicated]] = {}
    for pair in pairs:
        if pair.trial.layout_number <= CHECKED:
            cells.setdefault((pair.trial.variant.name, str(pair.trial.layout)), []).append(pair)
    checks = (_check(*cell, found) for cell, found in cells.items())
    return tuple(check for check in checks if check.workloads or check.missing)


def _check(variant: str, layout: str, pairs: Sequence[Replicated]) -> Check:
    found: dict[str, tuple[float, float]] = {}
    missing = []
    for pair in sorted(pairs, key=lambda pair: pair.trial.workload):
        measured = _cycles(pair.booted) if pair.booted and pair.booted.ok else None
        predicted = _cycles(pair.replayed)
        if predicted and measured:
            found[pair.trial.workload] = predicted, measured
        elif predicted:
            missing.append(pair.trial.workload)
    return Check(variant, layout, found, tuple(missing))


def _cycles(run: RunRow) -> float | None:
    return run.metrics.get(MODEL_CYCLES, (None, ""))[0]


def _mean(values: Sequence[float]) -> float:
    return geometric_mean(values) if values else nan
