# SPDX-License-Identifier: GPL-2.0-or-later
"""The best order of a kernel's functions: known algorithms, a local search, and the proof."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kernsmith.engine.events import Events
from kernsmith.engine.lab import LINKERS, Lab
from kernsmith.layout import ALGORITHMS, Costs, random_order
from kernsmith.layout.evaluate import mean_ratio, ratios

# What the order is chosen by.
METRIC = "model_cycles"


@dataclass(frozen=True)
class Chosen:
    """The best order, the name of the way to it, and every figure on that way."""

    order: list[str]
    name: str
    document: Mapping[str, Any]


def best_order(
    lab: Lab,
    *,
    train: Sequence[str],
    test: Sequence[str],
    count: int,
    evaluations: int,
    search_every: int,
    seed: int,
    confirm: bool,
    events: Events,
) -> Chosen:
    """Make orders from the training workloads and choose the one that is best on them.

    The search begins with the functions that many of the training workloads share, in front of all
    others and in their default order, and moves only them: what the others are to each other, one
    workload or none can tell.

    count: random layouts to compare with; the best of them is one of the orders shown.
    evaluations, search_every: of the local search, see `Evaluator.search`.
    confirm: link and boot the chosen order.
    """
    orders = _known_orders(lab, train, events)
    orders["shared"] = lab.evaluator.shared(train)
    orders |= _best_random(lab, train, count, seed, events)
    costs = _whole(lab, orders, events)
    if evaluations > 0:
        events.stage("search")

        def told(tried: int, cost: float) -> None:
            events.progress("orders", tried, evaluations)
            events.note(f"cost {cost:.4f} of that of the shared ones", tried / evaluations)

        orders["search"] = lab.evaluator.search(
            orders["shared"],
            train,
            evaluations=evaluations,
            every=search_every,
            seed=seed,
            on_progress=told,
        )
        costs |= _whole(lab, {"search": orders["search"]}, events)
    best = min(costs, key=lambda name: _cost(costs[name], costs["default"], train))
    parts = {"trained workloads": train} | ({"held-out workloads": test} if test else {})
    document: dict[str, Any] = {
        "best": best,
        "train": list(train),
        "test": list(test),
        "ratios": {
            part: {name: ratios(one, costs["default"], names) for name, one in costs.items()}
            for part, names in parts.items()
        },
        "costs": costs,
        "floor": {
            name: {"kernel_bytes": size, "cold_l1i_misses": lines}
            for name, (size, lines) in lab.evaluator.touched().items()
        },
    }
    if confirm:
        document["measured"] = lab.measured(orders[best], events)
        for part, names in parts.items():
            confirmed = ratios(document["measured"], costs["default"], names)
            document["ratios"][part]["best, linked and booted"] = confirmed
    return Chosen(orders[best], best, document)


def _known_orders(lab: Lab, train: Sequence[str], events: Events) -> dict[str, list[str]]:
    events.stage("order by known algorithms")
    orders: dict[str, list[str]] = {"default": []}
    for done, name in enumerate(ALGORITHMS, 1):
        orders[name] = lab.evaluator.order(name, train)
        events.progress("algorithms", done, len(ALGORITHMS) + len(LINKERS))
    for done, name in enumerate(LINKERS, len(ALGORITHMS) + 1):
        orders[f"lld {name}"] = lab.linkers_order(name, train)
        events.progress("algorithms", done, len(ALGORITHMS) + len(LINKERS))
    return orders


def _best_random(
    lab: Lab, train: Sequence[str], count: int, seed: int, events: Events
) -> dict[str, list[str]]:
    """The best of some random layouts on the training workloads."""
    if count < 1:
        return {}
    events.stage(f"evaluate {count} random layouts")
    evaluator = lab.evaluator
    orders = [random_order(evaluator.movable, f"{seed}/{n}") for n in range(count)]
    default, *costs = evaluator.costs(
        [[], *orders], lambda done, of: events.progress("layouts", done, of)
    )
    best = min(range(count), key=lambda n: _cost(costs[n], default, train))
    return {f"best of {count} random": orders[best]}


def _whole(lab: Lab, orders: Mapping[str, Sequence[str]], events: Events) -> dict[str, Costs]:
    """What orders cost over the whole traces."""
    events.stage(f"evaluate {len(orders)} orders over the whole traces")
    costs = lab.evaluator.costs(
        list(orders.values()), lambda done, of: events.progress("orders", done, of), every=1
    )
    return dict(zip(orders, costs, strict=True))


def _cost(costs: Costs, default: Costs, workloads: Sequence[str]) -> float:
    return mean_ratio(costs, default, METRIC, workloads)
