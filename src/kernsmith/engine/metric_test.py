# SPDX-License-Identifier: GPL-2.0-or-later
"""Mixed kernels judged by a metric over layouts: a change counts where it stands out of luck."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import exp, isfinite, log, log1p
from pathlib import Path
from statistics import fmean
from typing import Any, Protocol

from kernsmith.engine.bisect import LEAST_CHANGE
from kernsmith.engine.growth import grow, next_number
from kernsmith.engine.mix_replay import MeasuresMixes
from kernsmith.engine.mix_tests import BAD, GOOD, UNRESOLVED, Judged, MixTest
from kernsmith.errors import UserError
from kernsmith.files import locked, write_text
from kernsmith.guest.workloads import Workload
from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.mixed import Pair
from kernsmith.kernel.symbols import movable_functions, read_system_map
from kernsmith.layout import random_order
from kernsmith.machine import Job, Machine, run_to_judge
from kernsmith.machine.protocol import OK
from kernsmith.stats.sequential import Look, look_at


@dataclass(frozen=True)
class ChangesMetric:
    """Bad is a kernel whose metric has changed by more than `limit`, over random layouts.

    replays: how mixed kernels are measured in random layouts, in all of them at once; None: each of
        them is linked and booted.
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
    replays: MeasuresMixes | None = None
    limit: float | None = None
    repeats: int = field(default=1, init=False)

    @property
    def exact(self) -> bool:
        """As the machine is."""
        return self.machine.exact

    def identity(self) -> Any:
        """Machine, workloads, metric and layouts; not the limit, which a search finds itself."""
        if self.replays:
            return ["over layouts", self.replays.identity()]
        return [
            self.machine.fingerprint(), [each.amount for each in self.workloads], self.metric,
            self.layouts, self.most_layouts, self.seed,
        ]  # fmt: skip

    def judge(self, pair: Pair, taken: Collection[str], folder: Path) -> Judged:
        """See `MixTest`. A kernel that does not run the workloads has no figures."""
        figures = self._figures(pair)
        beside = folder.parent / "good"
        if not taken:
            alone = figures.logs((), beside, 1)
            return Judged(BAD, alone) if isinstance(alone, str) else Judged(GOOD)
        ratios: list[float] = []

        def measure(layouts: int) -> str:
            sides = []
            for side, place in ((taken, folder), ((), beside)):
                logs = figures.logs(side, place, layouts)
                if isinstance(logs, str):
                    return logs
                sides.append(logs)
            ratios[:] = (mine - good for mine, good in zip(*sides, strict=True))
            return ""

        def decide(failure: str, last: bool) -> Judged | None:
            if failure:
                return Judged(UNRESOLVED, failure)
            return self._decide(look_at(ratios), last)

        first = self.most_layouts if self.replays else self.layouts
        return grow(first, self.most_layouts, measure, decide, next_number)

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

    def _figures(self, pair: Pair) -> _Figures:
        if self.replays:
            return _Replayed(pair, self.replays)
        return _Booted(pair, self.machine, self.workloads, self.metric, self.seed)


class _Figures(Protocol):
    """Measures mixed kernels in random layouts, and keeps what was measured before a kill."""

    def logs(self, taken: Collection[str], folder: Path, layouts: int) -> Sequence[float] | str:
        """The mean logarithms of the metric over workloads in so many layouts, or why there are
        none. folder: the mixed kernel's own."""
        ...


@dataclass(frozen=True)
class _Replayed:
    """By one link and boot of each kernel."""

    pair: Pair
    measures: MeasuresMixes

    def logs(self, taken: Collection[str], folder: Path, layouts: int) -> Sequence[float] | str:
        """See `_Figures`."""
        kept = folder.with_suffix(".logs")
        with locked(folder.with_suffix(".logs.lock")):
            if kept.exists():
                return list(map(float, kept.read_text(encoding="ascii").split()))[:layouts]
            found = self.measures.measure(self.pair, taken, folder, by_object=False)
            if found.failure:
                return found.failure
            write_text(kept, " ".join(map(repr, found.logs)))
            return found.logs[:layouts]


@dataclass(frozen=True)
class _Booted:
    """By a link and a boot of each layout."""

    pair: Pair
    machine: Machine
    workloads: tuple[Workload, ...]
    metric: str
    seed: int

    def logs(self, taken: Collection[str], folder: Path, layouts: int) -> Sequence[float] | str:
        """See `_Figures`."""
        found = []
        for number in range(layouts):
            figure = self._figure(taken, number, folder / f"layout-{number}")
            if isinstance(figure, str):
                return figure
            found.append(figure)
        return found

    def _figure(self, taken: Collection[str], number: int, folder: Path) -> float | str:
        kept = folder.with_suffix(".figure")
        with locked(folder.with_suffix(".lock")):
            if kept.exists():
                return float(kept.read_text(encoding="ascii"))
            order = random_order(self._functions, f"{self.seed}.{number}")
            value = self._measured(taken, order, folder)
            if not isinstance(value, str):
                write_text(kept, repr(value))
            return value

    def _measured(self, taken: Collection[str], order: Sequence[str], folder: Path) -> float | str:
        image = self.pair.link(taken, folder, order)
        logs = []
        for workload in self.workloads:
            job = Job(workload, folder / workload.name, modules=self.pair.base.guest_archive)
            ran = run_to_judge(self.machine, image, job)
            if ran.status != OK:
                return f"{workload.name}: {ran.status}: {ran.reason}"
            value, _ = ran.metrics.get(self.metric, (0.0, ""))
            if not value > 0:
                raise UserError(f"{workload.name} has no {self.metric} above 0 to compare")
            logs.append(log(value))
        image.unlink()
        return fmean(logs)

    @cached_property
    def _functions(self) -> list[str]:
        """Those that any mixed kernel may have."""
        maps = [read_system_map(kernel.system_map) for kernel in (self.pair.good, self.pair.bad)]
        return list(dict.fromkeys(name for each in maps for name in movable_functions(each)))


def _judged(verdict: str, reason: str, look: Look) -> Judged:
    low, high = (_percent(bound) if isfinite(bound) else None for bound in (look.low, look.high))
    return Judged(verdict, reason, change=_percent(look.mean), low=low, high=high, layouts=look.n)


def _percent(shift: float) -> float:
    return 100 * (exp(shift) - 1)
