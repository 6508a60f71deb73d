# SPDX-License-Identifier: GPL-2.0-or-later
"""The metric that a study is about: one of the machine's, or one that its workloads tell."""

from __future__ import annotations

from collections.abc import Sequence

from kernsmith.errors import UserError
from kernsmith.guest.own_metric import OwnMetric
from kernsmith.guest.workloads import Workload
from kernsmith.machine.protocol import Machine, Metric
from kernsmith.study import Study


def own_metrics(study: Study, workloads: Sequence[Workload]) -> tuple[Metric, ...]:
    """What workloads tell themselves; a name that several have has a unit where all agree on it.

    Where layouts are replayed no headline is one of them: a replay knows nothing of it.
    """
    told: dict[str, list[OwnMetric]] = {}
    for workload in workloads:
        for each in workload.metrics:
            told.setdefault(each.name, []).append(each)
    booted = study.design.layouts_by == "boot"
    return tuple(
        Metric(
            name,
            found[0].unit if len({each.unit for each in found}) == 1 else "",
            "told by the workload itself",
            "counted",
            headline=booted,
            better=found[0].better,
        )
        for name, found in told.items()
    )


def check_metric(study: Study, machine: Machine, workloads: Sequence[Workload] = ()) -> None:
    """That there is the metric that a study is about, if it names one: the machine measures it, or
    all workloads tell it alike.

    Raises:
        UserError: there is not.
    """
    name = study.design.metric
    known = [metric.name for metric in machine.metrics]
    if not name or name in known:
        return
    told = [each for workload in workloads for each in workload.metrics if each.name == name]
    if not told:
        own = [metric.name for metric in own_metrics(study, workloads)]
        raise UserError(
            f"the machine {machine.name} has no metric {name!r}: allowed are "
            f"{', '.join((*known, *own))}"
        )
    if study.design.layouts_by == "replay":
        raise UserError(
            f"design.metric: {name} is what workloads tell, of which a replay knows nothing: it "
            'needs layouts_by = "boot" (--layouts-by boot)'
        )
    without = [
        workload.name
        for workload in workloads
        if name not in (each.name for each in workload.metrics)
    ]
    if without:
        raise UserError(f"design.metric: {name} is not told by {', '.join(without)}")
    if len({each.better for each in told}) > 1:
        raise UserError(f"design.metric: of {name} less is better to one workload, more to another")
