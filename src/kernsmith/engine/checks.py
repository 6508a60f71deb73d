# SPDX-License-Identifier: GPL-2.0-or-later
"""Replays held against boots of the same layouts: what was predicted beside what was measured.

A replay executes what was traced in the default layout. A kernel that executes something else when
it lies elsewhere is not what any replay can know: its instructions are counted in both boots, and
what they explain of an error is told apart from what they do not.

What cannot be told apart so is that the boot which checks takes turns of its own, and is cheaper
or dearer for each instruction by luck. Where layouts are dealt out to several boots, these say how
much that is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import log, nan

from kernsmith.engine.trial_rows import CHECKED
from kernsmith.ledger import RunRow
from kernsmith.machine.metrics import KERNEL_INSTRUCTIONS, MODEL_CYCLES
from kernsmith.stats.means import geometric_mean
from kernsmith.stats.pooled import apart_by_luck
from kernsmith.study import Trial

LIMIT = 0.5
"""A layout's `model_cycles` for each executed instruction, over all workloads, may be so many per
cent apart, beyond what two boots are by luck."""

_SHOWN = 0.005
"""A change of instructions that two decimals of a per cent show: told beside what failed."""

_NOTED = 0.1
"""A change of instructions that is worth a sentence of its own, in per cent."""


@dataclass(frozen=True)
class Replicated:
    """A replayed trial and the run of the same layout that was booted, if there is one.

    traced: the run that it was replayed from, if it is known.
    """

    trial: Trial
    replayed: RunRow
    booted: RunRow | None
    traced: RunRow | None = None


@dataclass(frozen=True)
class Checked:
    """A workload in a layout that was replayed and booted.

    predicted, measured: `model_cycles`. traced, executed: `kernel_instructions` of the boot that
        wrote the trace, and of the boot in this layout; 1 and 1 where the machine does not count.
    """

    predicted: float
    measured: float
    traced: float = 1.0
    executed: float = 1.0

    @property
    def error(self) -> float:
        """By how many per cent the prediction is above what was measured."""
        return 100 * (self.predicted / self.measured - 1)

    @property
    def more(self) -> float:
        """How many per cent more instructions this layout executes than were traced."""
        return 100 * (self.executed / self.traced - 1)

    @property
    def error_each(self) -> float:
        """The error of cycles for each executed instruction, in per cent."""
        each = self.predicted / self.traced, self.measured / self.executed
        return 100 * (each[0] / each[1] - 1)


@dataclass(frozen=True)
class Check:
    """A layout of a variant that was replayed and booted.

    workloads: those whose boot ended well. missing: those whose boot did not.
    luck: how far two boots are apart by luck, in per cent; 0 where nobody knows.
    """

    variant: str
    layout: str
    workloads: Mapping[str, Checked]
    missing: tuple[str, ...] = ()
    luck: float = 0.0

    @property
    def limit(self) -> float:
        """How large `error_each` of all workloads may be, in per cent."""
        return LIMIT + self.luck

    @property
    def whole(self) -> Checked:
        """Geometric means over workloads; NaN without one."""
        return Checked(
            self._mean(lambda one: one.predicted),
            self._mean(lambda one: one.measured),
            self._mean(lambda one: one.traced),
            self._mean(lambda one: one.executed),
        )

    @property
    def holds(self) -> bool:
        """Whether every workload was booted, and an instruction costs all together what was
        predicted.
        """
        return not self.missing and abs(self.whole.error_each) <= self.limit

    @property
    def sentence(self) -> str:
        """What is wrong."""
        what = f"the replayed layout {self.layout} of {self.variant}"
        if self.missing:
            return f"{what} could not be checked by booting: no run of {', '.join(self.missing)}"
        whole = self.whole
        error = f"{whole.error:+.2f} %"
        if abs(whole.more) >= _SHOWN:
            error += f", {whole.error_each:+.2f} % for each instruction ({self._instructions()}),"
        return (
            f"{what} is not what booting it gives: predicted {whole.predicted:.0f} cycles, "
            f"measured {whole.measured:.0f}, which is {error} and more than {self._limit()}"
            f"{self._worst()}: do not believe its replays, use --layouts-by boot"
        )

    @property
    def note(self) -> str:
        """What of the error no replay can know; empty when the layout executes what was traced, or
        nearly so.
        """
        whole = self.whole
        if self.missing or abs(whole.more) < _NOTED:
            return ""
        return (
            f"{self.variant}, {self.layout}: {self._instructions()} than its default one, which no "
            f"replay knows: of the error of {whole.error:+.2f} %, {whole.error_each:+.2f} % is the "
            "replay's own"
        )

    def _limit(self) -> str:
        if not self.luck:
            return f"{LIMIT:g} %"
        return (
            f"the {self.limit:.2f} % that it may be, {self.luck:.2f} of them by the luck of a boot"
        )

    def _instructions(self) -> str:
        more = self.whole.more
        side = "more" if more > 0 else "fewer"
        return f"this layout executes {abs(more):.2f} % {side} instructions"

    def _worst(self) -> str:
        """Where it is most, if there are several workloads."""
        if len(self.workloads) < 2:
            return ""
        name, one = max(self.workloads.items(), key=lambda each: abs(each[1].error_each))
        return f"; most in {name}, {one.error_each:+.2f} %"

    def _mean(self, figure: Callable[[Checked], float]) -> float:
        values = [figure(one) for one in self.workloads.values()]
        return geometric_mean(values) if values else nan


def find_checks(pairs: Sequence[Replicated]) -> tuple[Check, ...]:
    """A check for each layout that is to be checked, in the order of the trials."""
    cells: dict[tuple[str, str], list[Replicated]] = {}
    for pair in pairs:
        if pair.trial.layout_number <= CHECKED:
            cells.setdefault((pair.trial.variant.name, str(pair.trial.layout)), []).append(pair)
    luck = luck_of_boots(pairs)
    checks = (_check(*cell, found, luck) for cell, found in cells.items())
    return tuple(check for check in checks if check.workloads or check.missing)


def luck_of_boots(pairs: Sequence[Replicated]) -> float:
    """How far two boots of a kernel are apart in `model_cycles` for each instruction, in per cent,
    geometric means over workloads; 0 where layouts were replayed from one boot of each.

    It is told by the boots that wrote the traces, all in the default layout.
    """
    found: dict[str, dict[int, dict[str, float]]] = {}
    for pair in pairs:
        trial, run = pair.trial, pair.traced
        cycles, instructions = (
            run and _figure(run, name) for name in (MODEL_CYCLES, KERNEL_INSTRUCTIONS)
        )
        if cycles and instructions:
            boots = found.setdefault(trial.variant.name, {})
            boots.setdefault(trial.boot, {})[trial.workload] = log(cycles / instructions)
    workloads = {name for boots in found.values() for boot in boots.values() for name in boot}
    groups = [
        [sum(boot.values()) / len(boot) for boot in boots.values() if set(boot) == workloads]
        for boots in found.values()
    ]
    return 100 * apart_by_luck(groups)


def _check(variant: str, layout: str, pairs: Sequence[Replicated], luck: float) -> Check:
    found: dict[str, Checked] = {}
    missing = []
    for pair in sorted(pairs, key=lambda pair: pair.trial.workload):
        booted = pair.booted if pair.booted and pair.booted.ok else None
        measured = booted and _figure(booted, MODEL_CYCLES)
        predicted = _figure(pair.replayed, MODEL_CYCLES)
        if predicted and booted and measured:
            found[pair.trial.workload] = _checked(predicted, measured, pair.replayed, booted)
        elif predicted:
            missing.append(pair.trial.workload)
    return Check(variant, layout, found, tuple(missing), luck)


def _checked(predicted: float, measured: float, replayed: RunRow, booted: RunRow) -> Checked:
    traced, executed = (_figure(run, KERNEL_INSTRUCTIONS) for run in (replayed, booted))
    if traced and executed:
        return Checked(predicted, measured, traced, executed)
    return Checked(predicted, measured)


def _figure(run: RunRow, metric: str) -> float | None:
    return run.metrics.get(metric, (None, ""))[0]
