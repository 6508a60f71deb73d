# SPDX-License-Identifier: GPL-2.0-or-later
"""What random layouts and given orders of a kernel cost, replayed from its traces."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from kernsmith.document.layouts import (
    LabView,
    LayoutView,
    OrdersDocument,
    SampleDocument,
)
from kernsmith.document.study import OVERALL
from kernsmith.engine.events import Events
from kernsmith.engine.held import held_view
from kernsmith.engine.lab import Lab
from kernsmith.kernel.symbols import read_system_map
from kernsmith.layout import Costs, drawn_order, functions_of
from kernsmith.layout.evaluate import ratios
from kernsmith.stats.spread import spread_of
from kernsmith.study.layout import Layout


def sample_layouts(lab: Lab, *, count: int, seed: int, events: Events) -> SampleDocument:
    """The distribution of what `count` random layouts cost, relative to the default layout."""
    evaluator = lab.evaluator
    events.stage(f"evaluate {count} layouts")
    functions = functions_of(read_system_map(lab.kernel.system_map))
    drawn = [drawn_order(functions, Layout(seed=f"{seed}/{n}")) for n in range(count)]
    began = time.monotonic()
    default, *costs = evaluator.costs(
        [[], *(order.names for order in drawn)],
        lambda done, of: events.progress("layouts", done, of),
        margins=[{}, *(order.margins for order in drawn)],
    )
    seconds = time.monotonic() - began
    relative = [_relative(one, default, evaluator.workloads) for one in costs]
    return SampleDocument(
        lab=lab_view(lab),
        count=count,
        seed=seed,
        seconds=seconds,
        summary={
            workload: {
                metric: spread_of([one[workload][metric] for one in relative]) for metric in metrics
            }
            for workload, metrics in relative[0].items()
        },
        layouts=tuple(LayoutView(f"random:{seed}/{n}", one) for n, one in enumerate(costs)),
        default=default,
    )


def evaluate_orders(
    lab: Lab, orders: Mapping[str, Sequence[str]], events: Events
) -> OrdersDocument:
    """What orders cost beside the default layout. orders: functions, by the order's name."""
    evaluator = lab.evaluator
    events.stage(f"evaluate {len(orders)} orders")
    default, *found = evaluator.costs(
        [[], *orders.values()], lambda done, of: events.progress("layouts", done, of)
    )
    costs = {"default": default} | dict(zip(orders, found, strict=True))
    names = evaluator.workloads
    return OrdersDocument(
        lab=lab_view(lab),
        ratios={"all workloads": {n: ratios(one, default, names) for n, one in costs.items()}},
        costs=costs,
    )


def lab_view(lab: Lab) -> LabView:
    """What is judged with, for a document."""
    return LabView(
        kernel=lab.kernel.key,
        vmlinux=str(lab.kernel.vmlinux),
        cpu=lab.machine.cpu.stem,
        workloads=lab.evaluator.workloads,
        blocks=lab.evaluator.blocks,
        every=lab.evaluator.every,
        held=held_view(lab.machine.cpu),
    )


def _relative(
    costs: Costs, default: Costs, workloads: Sequence[str]
) -> dict[str, dict[str, float]]:
    """By workload, and for all together, each figure over the default layout's."""
    found = {workload: dict(ratios(costs, default, [workload])) for workload in workloads}
    if len(workloads) > 1:
        found[OVERALL] = dict(ratios(costs, default, workloads))
    return found
