# SPDX-License-Identifier: GPL-2.0-or-later
"""The step `layout`: the best order that the layout lab finds for the training workloads."""

from __future__ import annotations

from collections.abc import Sequence

from kernsmith.engine.best_order import Effort, best_order
from kernsmith.engine.events import Events
from kernsmith.engine.lab import open_lab
from kernsmith.engine.traces import trace_path
from kernsmith.engine.workers import Workers
from kernsmith.errors import UserError
from kernsmith.guest.workloads import Workload
from kernsmith.kernel.artifact import Kernel
from kernsmith.layout import MOST_BLOCKS
from kernsmith.machine import Machine
from kernsmith.machine.tcg import Tcg

# As `kernsmith layout optimize`, with a quarter of its local search, and without the random layouts
# that it shows the order beside: a study has its own.
EFFORT = Effort(count=0, evaluations=500, every=16, seed=1)


def search_order(
    kernel: Kernel,
    train: Sequence[Workload],
    machine: Machine,
    events: Events,
    workers: Workers,
) -> list[str]:
    """Functions of the kernel, first to last: of the orders that the lab tries, the one with the
    least `model_cycles` over the traces of the training workloads, whole or as much as
    `MOST_BLOCKS` of each.

    Traces that are taken for it are not kept.

    Raises:
        TraceFailed: a workload did not end well.
        UserError: a machine that writes no traces, or a kernel whose functions cannot be moved.
    """
    if not isinstance(machine, Tcg):
        raise UserError(f"the machine {machine.name} writes no traces to find an order with")
    paths = [trace_path(kernel, workload, machine) for workload in train]
    taken = [path for path in paths if not path.exists()]
    try:
        lab = open_lab(
            kernel, train, machine, events, every=EFFORT.every, most=MOST_BLOCKS, workers=workers
        )
        names = [workload.name for workload in train]
        chosen = best_order(
            lab, train=names, test=(), folds=0, effort=EFFORT, confirm=False, events=events
        )
    finally:
        for path in taken:
            path.unlink(missing_ok=True)
    if chosen.order:
        events.note(f"the best order of functions is that of {chosen.name}")
    else:
        events.note("no order of functions is better than the default one: layout changes nothing")
    return chosen.order
