# SPDX-License-Identifier: GPL-2.0-or-later
"""What workloads cost in any order of a kernel's functions, from one trace of each."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kernsmith._native import cpu_model_check
from kernsmith.errors import UserError
from kernsmith.kernel.regions import Margin
from kernsmith.layout.linkmap import Arrangement, Text
from kernsmith.layout.order import random_order
from kernsmith.layout.traced import Figures, TracedText
from kernsmith.stats.means import mean_ratio as geometric_mean_ratio

# Of all orders that are not a user's; see `Algorithm` in native/layout.
ALGORITHMS = ("hot-first", "density", "pettis-hansen", "c3", "cdsort")

# Orders in which the whole traces are replayed too, to know what a sample of them stands for.
_REFERENCES = 3

# How a packed order is searched for: by how many places a function moves at most, and how many
# moves are tried for each function. What many workloads use may go far; of the others,
# neighbours stay neighbours.
_SHARED_MOVES = (48, 2000)
_OTHER_MOVES = (4, 40)

# {workload: {metric: value}} of one order.
Costs = Mapping[str, Mapping[str, float]]


Replayer = Callable[
    [Sequence[Arrangement], int, int | None, Callable[[int], None]], Sequence[Figures]
]
"""Who replays: layouts, `every` and `displaced` as in `Evaluator.costs`, and what to call with how
many layouts are done."""


class Evaluator:
    """Traces of one kernel in its default layout, replayed through a CPU model.

    traced: the default layout and the traces. movable: functions that an order may name.
    cpu: the path of the CPU model. every: replay only one of so many windows of each trace, and
        scale what is counted by what the whole traces cost in a few reference orders.
    whole: one of so many windows stands for a whole trace, and what it counts is not scaled: ratios
        of orders are told then, and nothing that could be held against a boot. `every` is a
        multiple of it.
    """

    def __init__(
        self,
        traced: TracedText,
        movable: Iterable[str],
        cpu: Path,
        replay: Replayer,
        *,
        every: int = 1,
        whole: int = 1,
    ) -> None:
        self.text = traced.text
        self.movable = movable_in(traced.text, movable)
        self.cpu = cpu
        self.every = every
        self.whole = whole
        self.workloads = traced.workloads
        self.blocks = traced.blocks
        self._threads = os.cpu_count() or 1
        self._sections = self.text.numbers(self.movable)
        self._names = {n: self.text.sections[n].symbols[0] for n in self._sections}
        self._traced = traced  # it stays in memory as long as this
        self._lab = traced.lab
        self._replay = replay
        self._scales: list[dict[str, float]] = []

    def collisions(self, order: Iterable[str]) -> list[dict[str, Any]]:
        """What collides in the instruction cache in an order: by workload, as the native part tells
        it (`native/python/src/collisions.rs`). The whole traces are replayed."""
        names = [section.symbols[0] if section.symbols else "?" for section in self.text.sections]
        numbers = self.text.numbers(list(order))
        return self._lab.collisions(numbers, self.cpu, names)

    def costs(
        self,
        orders: Sequence[Iterable[str]],
        on_progress: Callable[[int, int], None] = lambda done, of: None,
        *,
        every: int = 0,
        displaced: int | None = None,
        margins: Sequence[Mapping[str, Margin]] = (),
    ) -> list[Costs]:
        """Kernel-mode figures of each workload in each order; an empty order is the default.

        every: 1 for the whole traces whatever the evaluator's own setting; 0 for that one.
        displaced: the number of a way to put empty lines between the functions, now and then:
            neighbours stay neighbours and begin where they did in a line, but what is farther
            apart meets in other sets of the caches.
        margins: of regions, for each order; see `Text.arranged`.
        """
        every = max(every or self.every, self.whole)
        beside = margins or [{}] * len(orders)
        layouts = [self.text.arranged(*both) for both in zip(orders, beside, strict=True)]
        sampled = every > self.whole
        if sampled and not self._scales:
            self._scales = self._calibrated()
        scales = self._scales if sampled else []
        return self._replayed(
            layouts, every, scales, displaced, lambda done: on_progress(done, len(layouts))
        )

    def _calibrated(self) -> list[dict[str, float]]:
        """By workload and metric: the whole traces' figures over the samples', in some orders."""
        orders = [random_order(self.movable, f"reference {n}") for n in range(_REFERENCES)]
        layouts = [self.text.arranged(order) for order in orders]
        whole = self._replayed(layouts, self.whole, [])
        sampled = self._replayed(layouts, self.every, [])
        scales = []
        for workload in self.workloads:
            scale = {}
            for metric in whole[0][workload]:
                counted = sum(costs[workload][metric] for costs in sampled)
                real = sum(costs[workload][metric] for costs in whole)
                scale[metric] = real / counted if counted else 1.0
            scales.append(scale)
        return scales

    def _replayed(
        self,
        layouts: Sequence[Arrangement],
        every: int,
        scales: Sequence[Mapping[str, float]],
        displaced: int | None = None,
        on_progress: Callable[[int], None] = lambda done: None,
    ) -> list[Costs]:
        replayed = self._replay(layouts, every, displaced, on_progress)
        if scales:
            replayed = [
                [
                    {metric: value * scale[metric] for metric, value in one.items()}
                    for one, scale in zip(costs, scales, strict=True)
                ]
                for costs in replayed
            ]
        return [dict(zip(self.workloads, costs, strict=True)) for costs in replayed]

    def place(self, order: Iterable[str], margins: Mapping[str, Margin] | None = None) -> list[int]:
        """The address of each section of the text in an order. margins: see `Text.arranged`."""
        layout = self.text.arranged(order, margins or {})
        return list(self._lab.place(list(layout.order), list(layout.shifts)))

    def order(self, algorithm: str, train: Sequence[str]) -> list[str]:
        """The order that an algorithm (of `ALGORITHMS`) makes from some workloads."""
        found = self._lab.order(algorithm, self._sections, self._traces(train))
        return self._symbols(found)

    def shared(self, workloads: Sequence[str]) -> list[str]:
        """The functions that at least a third of some workloads, and two of them, execute, in the
        default order; of one workload, all that it executes."""
        executed = Counter(
            name for workload in workloads for name in self.order("density", [workload])
        )
        least = min(max(2, -(-len(workloads) // 3)), len(workloads))
        names = [name for name, count in executed.items() if count >= least]
        starts = {name: self.text.sections[self.text.numbers([name])[0]].start for name in names}
        return sorted(names, key=starts.__getitem__)

    def packed(
        self,
        train: Sequence[str],
        *,
        seed: int = 1,
        on_progress: Callable[[int, int], None] = lambda done, of: None,
    ) -> list[str]:
        """The shared functions first, then all others as they come; both moved among themselves,
        the others only by a few places, so that what is executed takes up few lines and pages: see
        `native/layout/src/pack.rs`.

        Functions that share their name are not named: the linker has its own order for them.
        """
        alone = dict.fromkeys(
            number
            for number in self._sections
            if self.text.numbers([self._names[number]]) == [number]
        )
        shared = [number for number in self.text.numbers(self.shared(train)) if number in alone]
        others = sorted(
            alone.keys() - set(shared), key=lambda number: self.text.sections[number].start
        )
        zones = [(shared, *_SHARED_MOVES), (others, *_OTHER_MOVES)]
        moves = sum(len(sections) * tries for sections, _, tries in zones)
        found = self._lab.pack(
            zones,
            self.cpu,
            self._traces(train),
            seed=seed,
            threads=self._threads,
            progress=lambda done: on_progress(done, moves),
        )
        return self._symbols(found)

    def calls(self, train: Sequence[str]) -> str:
        """The call graph of some workloads, as `ld.lld --call-graph-ordering-file` takes it."""
        calls = self._lab.calls(self._sections, self._traces(train))
        # The linker takes whole numbers; a weight is a share of all executed blocks.
        lines = [
            f"{self._names[a]} {self._names[b]} {round(weight * 1e9)}"
            for a, b, weight in calls
            if round(weight * 1e9) > 0
        ]
        return "\n".join(lines) + "\n"

    def search(
        self,
        order: Sequence[str],
        train: Sequence[str],
        *,
        movable: Sequence[str],
        evaluations: int,
        every: int,
        seed: int = 1,
        on_progress: Callable[[int, float], None] = lambda tried, cost: None,
    ) -> list[str]:
        """Improve an order by a local search that moves the executed ones of `movable`: see
        `native/layout/src/search.rs`."""
        found = self._lab.search(
            self.text.numbers(order),
            self.text.numbers(movable),
            self.cpu,
            self._traces(train),
            evaluations=evaluations,
            seed=seed,
            threads=self._threads,
            every=every,
            progress=on_progress,
        )
        return self._symbols(found)

    def touched(self) -> dict[str, tuple[int, int]]:
        """By workload: bytes of kernel code that it executes, and the least L1i misses that they
        cost: each line fetched once, all of them packed."""
        line = int(cpu_model_check(self.cpu)["line_bytes"])
        executed = zip(self.workloads, self._lab.touched(), strict=True)
        return {workload: (size, -(-size // line)) for workload, size in executed}

    def _traces(self, workloads: Sequence[str]) -> list[int]:
        return [self.workloads.index(name) for name in workloads]

    def _symbols(self, sections: Iterable[int]) -> list[str]:
        # Static functions may share a name; the linker moves all of them together, and an order may
        # so move what is not among the movable ones.
        return list(dict.fromkeys(self.text.sections[number].symbols[0] for number in sections))


def movable_in(text: Text, functions: Iterable[str]) -> tuple[str, ...]:
    """Those of the functions that a text can move.

    Raises:
        UserError: it was built without sections for them.
    """
    movable = tuple(name for name in functions if text.knows(name))
    # A section of a function's own may have two names: objtool puts __pfx_NAME in front of NAME.
    if len(text.numbers(movable)) * 4 < len(movable):
        raise UserError(
            "this kernel was built without function sections (-ffunction-sections): its "
            "functions cannot be moved one by one"
        )
    return movable


def ratios(costs: Costs, base: Costs, workloads: Sequence[str]) -> dict[str, float]:
    """Each metric relative to another order's: geometric means over workloads."""
    metrics = [m for m in base[workloads[0]] if m in costs[workloads[0]]]
    return {metric: mean_ratio(costs, base, metric, workloads) for metric in metrics}


def mean_ratio(costs: Costs, base: Costs, metric: str, workloads: Iterable[str]) -> float:
    """Geometric mean over workloads of a metric relative to another order's.

    The rule for zeros is that of `stats.means`; the two figures of a workload are its scope.
    """
    return geometric_mean_ratio((base[name][metric], costs[name][metric]) for name in workloads)
