# SPDX-License-Identifier: GPL-2.0-or-later
"""Mixed kernels judged by a metric over layouts: a change counts where it stands out of luck."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import exp, isfinite, log, log1p
from pathlib import Path
from statistics import fmean
from typing import Any

from kernsmith.engine.bisect import LEAST_CHANGE
from kernsmith.engine.growth import grow, next_number
from kernsmith.engine.mix_tests import BAD, GOOD, UNRESOLVED, Judged, MixTest
from kernsmith.errors import UserError
from kernsmith.files import locked, write_text
from kernsmith.guest.workloads import Workload
from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.mixed import Pair
from kernsmith.kernel.symbols import movable_functions, read_system_map
from kernsmith.layout import random_order
from kernsmith.machine import Job, Machine, run_once
from kernsmith.machine.protocol import OK
from kernsmith.stats.sequential import Look, look_at


@dataclass(frozen=True)
class ChangesMetric:
    """Bad is a kernel whose metric has changed by more than `limit`, over random layouts.

    limit: per cent of the good kernel, above 0 where more is bad, below 0 where less is; None: any
        change of `LEAST_CHANGE` or more, to either side, which is what the bad kernel is asked for.
    layouts, most_layouts: with which it begins, and with which there is an answer in any case.
    """

    machine: Machine
    workloads: tuple[Workload, ...]
    metric: str
    name: str
    layouts: int = 4
    most_layouts: int = 16
    seed: int = 1
    limit: float | None = None
    repeats: int = field(default=1, init=False)
    exact: bool = field(default=True, init=False)

    def identity(self) -> Any:
        """Machine, workloads, metric and layouts; not the limit, which a search finds itself."""
        return [
            self.machine.fingerprint(), [each.amount for each in self.workloads], self.metric,
            self.layouts, self.most_layouts, self.seed,
        ]  # fmt: skip

    def judge(self, pair: Pair, taken: Collection[str], folder: Path) -> Judged:
        """See `MixTest`. A kernel that does not run the workloads has no figures."""
        orders, beside = _Orders(pair, self.seed), folder.parent / "good"
        if not taken:
            first = self._figure(pair, (), orders.of(0), beside / "layout-0")
            return Judged(BAD, first) if isinstance(first, str) else Judged(GOOD)
        ratios: list[float] = []

        def measure(layouts: int) -> str:
            for number in range(len(ratios), layouts):
                layout, order = f"layout-{number}", orders.of(number)
                figures = (
                    self._figure(pair, taken, order, folder / layout),
                    self._figure(pair, (), order, beside / layout),
                )
                for each in figures:
                    if isinstance(each, str):
                        return each
                ratios.append(float(figures[0]) - float(figures[1]))
            return ""

        def decide(failure: str, last: bool) -> Judged | None:
            if failure:
                return Judged(UNRESOLVED, failure)
            return self._decide(look_at(ratios), last)

        return grow(self.layouts, self.most_layouts, measure, decide, next_number)

    def judge_itself(self, kernel: Kernel, folder: Path) -> Judged:
        """One layout says nothing of a kernel."""
        return Judged(UNRESOLVED, "a metric is measured over layouts")

    def limited(self, good: Judged) -> MixTest:
        """As it is."""
        return self

    def halved(self, whole: Judged) -> ChangesMetric:
        """The test for parts of what made this change: half of it is bad."""
        assert whole.change is not None
        return replace(self, limit=100 * (exp(log1p(whole.change / 100) / 2) - 1))

    def _decide(self, look: Look, last: bool) -> Judged | None:
        least = log1p(LEAST_CHANGE / 100)
        if self.limit is None:
            if look.low > least or look.high < -least:
                return _judged(BAD, "it differs from the good kernel over layouts", look)
            close = -least < look.low and look.high < least
            return _judged(GOOD, "no difference over layouts", look) if close or last else None
        limit = log1p(self.limit / 100)
        beyond, short = look.low > limit, look.high < limit
        if self.limit < 0:
            beyond, short = short, beyond
        if beyond or short:
            side = "beyond" if beyond else "short of"
            verdict = BAD if beyond else GOOD
            return _judged(verdict, f"over layouts it is {side} {self.limit:+.3f} %", look)
        reason = f"too close to {self.limit:+.3f} % to call after {look.n} layouts"
        return _judged(UNRESOLVED, reason, look) if last else None

    def _figure(
        self, pair: Pair, taken: Collection[str], order: Sequence[str], folder: Path
    ) -> float | str:
        """The mean logarithm of the metric over workloads, or why there is none. What was measured
        before a kill is kept."""
        kept = folder.with_suffix(".figure")
        with locked(folder.with_suffix(".lock")):
            if kept.exists():
                return float(kept.read_text(encoding="ascii"))
            value = self._measured(pair, taken, order, folder)
            if not isinstance(value, str):
                write_text(kept, repr(value))
            return value

    def _measured(
        self, pair: Pair, taken: Collection[str], order: Sequence[str], folder: Path
    ) -> float | str:
        image = pair.link(taken, folder, order)
        logs = []
        for workload in self.workloads:
            job = Job(workload, folder / workload.name, modules=pair.base.guest_archive)
            ran = run_once(self.machine, image, job)
            if ran.status != OK:
                return f"{workload.name}: {ran.status}: {ran.reason}"
            value, _ = ran.metrics.get(self.metric, (0.0, ""))
            if not value > 0:
                raise UserError(f"{workload.name} has no {self.metric} above 0 to compare")
            logs.append(log(value))
        image.unlink()
        return fmean(logs)


@dataclass(frozen=True)
class _Orders:
    """Random orders of the functions that any mixed kernel may have."""

    pair: Pair
    seed: int

    def of(self, number: int) -> list[str]:
        """The layout with this number."""
        return random_order(self._functions, f"{self.seed}.{number}")

    @cached_property
    def _functions(self) -> list[str]:
        maps = [read_system_map(kernel.system_map) for kernel in (self.pair.good, self.pair.bad)]
        return list(dict.fromkeys(name for each in maps for name in movable_functions(each)))


def _judged(verdict: str, reason: str, look: Look) -> Judged:
    low, high = (_percent(bound) if isfinite(bound) else None for bound in (look.low, look.high))
    return Judged(verdict, reason, change=_percent(look.mean), low=low, high=high, layouts=look.n)


def _percent(shift: float) -> float:
    return 100 * (exp(shift) - 1)
