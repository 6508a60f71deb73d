# SPDX-License-Identifier: GPL-2.0-or-later
"""The best order of a kernel's functions: known algorithms, a local search, and the proof."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Protocol

from kernsmith.document.layouts import CONFIRMED, OrdersDocument, Unseen
from kernsmith.engine.events import Events
from kernsmith.engine.kept_orders import KeptOrders
from kernsmith.engine.lab import LINKERS, Lab
from kernsmith.engine.sampling import lab_view
from kernsmith.errors import UserError
from kernsmith.layout import ALGORITHMS, Costs, Evaluator, random_order
from kernsmith.layout.evaluate import mean_ratio, ratios
from kernsmith.study import digest_of

ORDERS = (*ALGORITHMS, *(f"lld {name}" for name in LINKERS), "shared", "packed", "search")
"""Of all orders that are made from workloads, beside the default and random ones."""

# What the order is chosen by.
METRIC = "model_cycles"

# Among orders that were made of different workloads: of each part the best one.
CHOSEN = "best of each part"

# In how many ways the functions are displaced, see `Evaluator.costs`.
DISPLACEMENTS = 8


def check_orders(names: Sequence[str]) -> tuple[str, ...]:
    """These orders, each once.

    Raises:
        UserError: there is none of that name.
    """
    for name in names:
        if name not in ORDERS:
            raise UserError(f"there is no order {name!r}: allowed are {', '.join(ORDERS)}")
    return tuple(dict.fromkeys(names))


@dataclass(frozen=True)
class Effort:
    """How much is tried before an order is called the best.

    count: random layouts to compare with; the best of them is one of the orders shown.
    evaluations, every: of the local search, see `Evaluator.search`. seed: of both and of packing.
    """

    count: int
    evaluations: int
    every: int
    seed: int


@dataclass(frozen=True)
class Chosen:
    """The best order, the name of the way to it, and every figure on that way."""

    order: list[str]
    name: str
    document: OrdersDocument


class Ground(Protocol):
    """What orders are made on: a kernel, or a program, with traces of what it does."""

    @property
    def evaluator(self) -> Evaluator:
        """The text, the traces, and the CPU model."""

    @property
    def kept(self) -> KeptOrders | None:
        """Where orders are kept that take long to find, if they are."""

    def linkers_order(self, algorithm: str, train: Sequence[str]) -> list[str]:
        """The order that the linker makes of the calls in these workloads' traces; algorithm: one
        of `LINKERS`."""


@dataclass(frozen=True)
class _Randoms:
    """Random layouts with what each cost on samples of all traces, and the default layout."""

    orders: list[list[str]]
    costs: list[Costs]
    default: Costs


@dataclass(frozen=True)
class Judged:
    """Orders made from some workloads, and what each costs over the whole traces of all."""

    orders: Mapping[str, list[str]]
    costs: Mapping[str, Costs]
    best: str


def best_order(
    lab: Lab,
    *,
    train: Sequence[str],
    test: Sequence[str],
    folds: int,
    effort: Effort,
    confirm: bool,
    events: Events,
) -> Chosen:
    """Make orders from the training workloads and choose the one that is best on them.

    folds: also do the same in so many parts, in each of which other training workloads are left
        out, to tell what such orders are worth to workloads that they were not made for; 0: do not.
    confirm: link and boot the chosen order.
    """
    randoms = _random_layouts(lab, effort, events)
    judged = _judge(lab, train, randoms, effort, events)
    default = judged.costs["default"]
    parts = {"trained workloads": train} | ({"held-out workloads": test} if test else {})
    ratio_tables = {
        part: {name: ratios(one, default, names) for name, one in judged.costs.items()}
        for part, names in parts.items()
    }
    measured = lab.measured(judged.orders[judged.best], events) if confirm else None
    if measured:
        for part, names in parts.items():
            ratio_tables[part][CONFIRMED] = ratios(measured, default, names)
    unseen = None
    if folds:
        unseen = _cross_validated(lab, train, folds, randoms, effort, confirm, events)
        displaced = {name: _mean(costs) for name, costs in unseen.displaced.items()}
        for how, costs in (("", unseen.as_is), (", displaced", displaced)):
            ratio_tables[f"each workload held out once, in {folds} parts{how}"] = {
                name: ratios(one, costs["default"], train) for name, one in costs.items()
            }
    document = OrdersDocument(
        lab=lab_view(lab),
        ratios=ratio_tables,
        costs=judged.costs,
        best=judged.best,
        train=tuple(train),
        test=tuple(test),
        floor={
            name: {"kernel_bytes": size, "cold_l1i_misses": lines}
            for name, (size, lines) in lab.evaluator.touched().items()
        },
        measured=measured,
        cross_validated=unseen,
    )
    return Chosen(judged.orders[judged.best], judged.best, document)


def judged_orders(ground: Ground, train: Sequence[str], effort: Effort, events: Events) -> Judged:
    """Make orders from some workloads, and tell what each costs them."""
    return _judge(ground, train, _random_layouts(ground, effort, events), effort, events)


def _cross_validated(
    lab: Lab,
    workloads: Sequence[str],
    folds: int,
    randoms: _Randoms,
    effort: Effort,
    confirm: bool,
    events: Events,
) -> Unseen:
    as_is: dict[str, dict[str, Mapping[str, float]]] = {}
    displaced: dict[str, list[dict[str, Mapping[str, float]]]] = {}
    for fold in range(folds):
        held_out = workloads[fold::folds]
        train = [name for name in workloads if name not in held_out]
        judged = _judge(lab, train, randoms, effort, events)
        found = dict(judged.costs) | {CHOSEN: judged.costs[judged.best]}
        if confirm:
            measured = lab.measured(judged.orders[judged.best], events, only=held_out)
            found[f"{CHOSEN}, linked and booted"] = measured
        for name, costs in found.items():
            as_is.setdefault(name, {}).update((work, costs[work]) for work in held_out)
        orders = dict(judged.orders) | {CHOSEN: judged.orders[judged.best]}
        events.stage(f"displace {len(orders)} orders in {DISPLACEMENTS} ways")
        for way in range(DISPLACEMENTS):
            layouts = lab.evaluator.costs(list(orders.values()), displaced=way)
            for name, costs in zip(orders, layouts, strict=True):
                ways = displaced.setdefault(name, [{} for _ in range(DISPLACEMENTS)])
                ways[way].update((work, costs[work]) for work in held_out)
            events.progress("ways", way + 1, DISPLACEMENTS)
    ways_of = {name: tuple(ways) for name, ways in displaced.items()}
    return Unseen(dict(as_is), ways_of)


def _mean(costs: Sequence[Costs]) -> Costs:
    return {
        workload: {metric: fmean(one[workload][metric] for one in costs) for metric in metrics}
        for workload, metrics in costs[0].items()
    }


def _judge(
    lab: Ground, train: Sequence[str], randoms: _Randoms, effort: Effort, events: Events
) -> Judged:
    """Make orders from some workloads.

    The search begins with the packed order and moves only the functions that many of them share:
    what the others are to each other, one workload or none can tell. Where a known order is still
    better, as with few workloads, which have little in common, it begins again with that one and
    moves all of it that they execute.
    """

    def pack() -> list[str]:
        return lab.evaluator.packed(
            train, seed=effort.seed, on_progress=lambda done, of: events.progress("moves", done, of)
        )

    orders = _known_orders(lab, train, events)
    shared = orders["shared"] = lab.evaluator.shared(train)
    events.stage("pack what is executed into few lines")
    orders["packed"] = _kept(lab, "packed", [*train, str(effort.seed)], pack)
    orders |= _best_random(randoms, train)
    costs = _whole(lab, orders, events)

    def best() -> str:
        return min(costs, key=lambda name: _cost(costs[name], costs["default"], train))

    for start in dict.fromkeys(("packed", best())):
        if effort.evaluations > 0 and orders[start] and best() != "search":
            movable = shared if start == "packed" else orders[start]
            orders["search"] = _searched(lab, orders[start], movable, start, train, effort, events)
            costs |= _whole(lab, {"search": orders["search"]}, events)
    return Judged(orders, costs, best())


def _searched(
    lab: Ground,
    order: Sequence[str],
    movable: Sequence[str],
    name: str,
    train: Sequence[str],
    effort: Effort,
    events: Events,
) -> list[str]:
    events.stage("search")
    asked = [*train, str(effort), digest_of([list(order), list(movable)])]

    def tell(tried: int, cost: float) -> None:
        events.progress("orders", tried, effort.evaluations)
        events.note(f"cost {cost:.4f} of that of {name}", tried / effort.evaluations)

    def search() -> list[str]:
        return lab.evaluator.search(
            order,
            train,
            movable=movable,
            evaluations=effort.evaluations,
            every=effort.every * lab.evaluator.whole,
            seed=effort.seed,
            on_progress=tell,
        )

    return _kept(lab, "search", asked, search)


def _kept(lab: Ground, name: str, asked: Sequence[str], make: Callable[[], list[str]]) -> list[str]:
    return lab.kept.order(name, asked, make) if lab.kept else make()


def _known_orders(lab: Ground, train: Sequence[str], events: Events) -> dict[str, list[str]]:
    events.stage("order by known algorithms")
    orders: dict[str, list[str]] = {"default": []}
    for done, name in enumerate(ALGORITHMS, 1):
        orders[name] = lab.evaluator.order(name, train)
        events.progress("algorithms", done, len(ALGORITHMS) + len(LINKERS))
    for done, name in enumerate(LINKERS, len(ALGORITHMS) + 1):
        orders[f"lld {name}"] = lab.linkers_order(name, train)
        events.progress("algorithms", done, len(ALGORITHMS) + len(LINKERS))
    return orders


def _random_layouts(lab: Ground, effort: Effort, events: Events) -> _Randoms:
    movable = lab.evaluator.movable
    orders = [random_order(movable, f"{effort.seed}/{n}") for n in range(effort.count)]
    if orders:
        events.stage(f"evaluate {len(orders)} random layouts")
    default, *costs = lab.evaluator.costs(
        [[], *orders], lambda done, of: events.progress("layouts", done, of)
    )
    return _Randoms(orders, costs, default)


def _best_random(randoms: _Randoms, train: Sequence[str]) -> dict[str, list[str]]:
    """The best of the random layouts on the training workloads."""
    if not randoms.orders:
        return {}
    numbers = range(len(randoms.orders))
    best = min(numbers, key=lambda n: _cost(randoms.costs[n], randoms.default, train))
    return {f"best of {len(numbers)} random": randoms.orders[best]}


def _whole(lab: Ground, orders: Mapping[str, Sequence[str]], events: Events) -> dict[str, Costs]:
    """What orders cost over the whole traces, or what stands for them."""
    part = lab.evaluator.whole
    over = f"one of {part} windows of the traces" if part > 1 else "the whole traces"
    events.stage(f"evaluate {len(orders)} orders over {over}")
    costs = lab.evaluator.costs(
        list(orders.values()), lambda done, of: events.progress("orders", done, of), every=1
    )
    return dict(zip(orders, costs, strict=True))


def _cost(costs: Costs, default: Costs, workloads: Sequence[str]) -> float:
    return mean_ratio(costs, default, METRIC, workloads)
