# SPDX-License-Identifier: GPL-2.0-or-later
"""How many layouts, boots and runs a study should have, from what it has measured so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp
from statistics import fmean
from typing import Any

from kernsmith.engine.disturbances import timings
from kernsmith.engine.prepare import Prepared
from kernsmith.engine.trial_rows import Rows, runs_of
from kernsmith.engine.verdicts import Measured, primary_metric
from kernsmith.errors import UserError
from kernsmith.ledger import BootRow, Ledger, RunRow
from kernsmith.stats.components import LEVELS_OF_BOOTS, Component, variance_components
from kernsmith.stats.nested import Costs, Goal, Spending, Timing, spend
from kernsmith.stats.question import OVERALL
from kernsmith.study.study import MOST_DRAWN

_LEAST = 1e-3
"""Seconds that a run costs at least."""


@dataclass(frozen=True)
class Pilot:
    """What a study that the ledger has says of the scatter of its runs.

    timings: by workload, and of their mix under `OVERALL`, whose runs are geometric means of those
        that belong together.
    variants: how many the study has. costs: seconds of a layout, a boot and a run of one workload.
    together: whether workloads share boots. of_boots: whether layouts are dealt out to boots, which
        then are the sample, and not the layouts.
    """

    metric: str
    timings: Mapping[str, Sequence[Timing]]
    variants: int
    costs: Costs
    together: bool = False
    of_boots: bool = False

    def costs_of(self, name: str) -> Costs:
        """What is spent on a workload, or on all of them."""
        if name != OVERALL:
            return self.costs
        count = len(self.timings) - 1
        boots = 1 if self.together else count
        return Costs(self.costs.layout, boots * self.costs.boot, count * self.costs.run)


@dataclass(frozen=True)
class Wanted:
    """What a study is to reach.

    costs: None for what its runs and boots took; a relink takes what it usually does, and a layout
        that is replayed has neither that nor a boot. Where layouts are dealt out to boots, a run is
        a replay, and nothing is linked.
    """

    goal: Goal
    costs: Costs | None = None


def what_to_spend(prepared: Prepared, rows: Rows, ledger: Ledger, wanted: Wanted) -> dict[str, Any]:
    """See `spending`: by those of a plan's trials that have a run.

    Raises:
        UserError: none has.
    """
    runs = runs_of(rows, ledger.runs(row.digest for row in rows.values()))
    measured = [
        Measured(trial, row.digest, run, row.replayed)
        for (trial, row), run in zip(rows.items(), runs, strict=True)
    ]
    return spending(pilot_of(prepared, measured, ledger, wanted.costs), wanted.goal)


def pilot_of(
    prepared: Prepared, measured: Sequence[Measured], ledger: Ledger, costs: Costs | None
) -> Pilot:
    """The pilot that these trials of a study are.

    Raises:
        UserError: nothing of it was measured yet.
    """
    ended = [each for each in measured if each.run is not None and each.run.ok]
    known = {name for each in ended if each.run is not None for name in each.run.metrics}
    listed = [each.name for each in prepared.metrics]
    metric = primary_metric(prepared.study.design, known or listed)
    names = [workload.name for workload in prepared.workloads]
    design = prepared.study.design
    by_workload = {name: timings(ended, name, metric, design) for name in names}
    by_workload = {name: rows for name, rows in by_workload.items() if rows}
    if not by_workload:
        raise UserError(
            f"nothing of {prepared.study.name} has {metric} yet: run it with some layouts first"
        )
    if len(by_workload) > 1 and (mix := mixed(by_workload)):
        by_workload = {OVERALL: mix, **by_workload}
    variants = len({variant.name for variant in prepared.variants})
    of_boots = design.boots > 1
    costs = costs or _costs(ended, ledger, of_boots=of_boots)
    if of_boots:
        costs = replace(costs, layout=0.0)
    return Pilot(metric, by_workload, variants, costs, _share_boots(ended), of_boots)


def mixed(by_workload: Mapping[str, Sequence[Timing]]) -> list[Timing]:
    """Geometric means over workloads of the runs that all of them have."""
    found: dict[tuple[str, str, str, str], list[Timing]] = {}
    for rows in by_workload.values():
        for row in rows:
            found.setdefault((row.variant, row.layout, row.boot, row.run), []).append(row)
    return [
        Timing(*key, exp(fmean(row.log for row in rows)), min(row.position for row in rows))
        for key, rows in found.items()
        if len(rows) == len(by_workload)
    ]


def _share_boots(measured: Sequence[Measured]) -> bool:
    workloads: dict[int, set[str]] = {}
    for each in measured:
        if each.run is not None and each.run.boot is not None:
            workloads.setdefault(each.run.boot, set()).add(each.trial.workload)
    return any(len(names) > 1 for names in workloads.values())


def _costs(measured: Sequence[Measured], ledger: Ledger, *, of_boots: bool) -> Costs:
    replays = [each.run for each in measured if each.run is not None and each.replayed]
    if replays:
        traced = [each.run for each in measured if each.run is not None and not each.replayed]
        boot = fmean(run.wall_seconds for run in traced) if of_boots and traced else 0.0
        return Costs(0.0, boot, max(_LEAST, fmean(run.wall_seconds for run in replays)))
    runs = [each.run for each in measured if each.run is not None]
    numbers = {run.boot for run in runs if run.boot is not None}
    return costs_of(runs, ledger.boots(numbers))


def costs_of(runs: Sequence[RunRow], boots: Mapping[int, BootRow]) -> Costs:
    """Means over runs, and over boots without the runs in them, in seconds; a run that has a boot
    to itself is a part of what that took."""
    usual = Costs()
    shared: dict[int, list[RunRow]] = {}
    for run in runs:
        if run.boot is not None:
            shared.setdefault(run.boot, []).append(run)
    if not any(len(each) > 1 for each in shared.values()):
        whole = fmean(run.wall_seconds for run in runs) if runs else usual.boot + usual.run
        return Costs(usual.layout, max(0.0, whole - usual.run), usual.run)
    alone = [
        max(0.0, ended - sum(run.wall_seconds for run in shared[number]))
        for number, boot in boots.items()
        if number in shared and (ended := boot.wall_seconds) is not None
    ]
    run_seconds = max(_LEAST, fmean(run.wall_seconds for run in runs))
    return Costs(usual.layout, fmean(alone) if alone else usual.boot, run_seconds)


def spending(pilot: Pilot, goal: Goal) -> dict[str, Any]:
    """What to spend, as a JSON-able document: of the mix and of each workload.

    `of` has, of each, its `components` (variances of logarithms, per cent as standard deviations)
    and the cheapest design that reaches the goal, or null where none does: layouts, boots of each
    and runs in each; where layouts are dealt out to boots, as `sample` tells, boots of each kernel
    and workload, and layouts in all of them.
    """
    costs = pilot.costs
    return {
        "metric": pilot.metric,
        "sample": "boots" if pilot.of_boots else "layouts",
        "goal": {"percent": goal.percent, "power": goal.power, "alpha": goal.alpha},
        "costs": {"layout": costs.layout, "boot": costs.boot, "run": costs.run},
        "variants": pilot.variants,
        "of": {name: _one(name, goal, pilot) for name in pilot.timings},
    }


def _one(name: str, goal: Goal, pilot: Pilot) -> dict[str, Any]:
    rows = pilot.timings[name]
    names = LEVELS_OF_BOOTS if pilot.of_boots else {}
    found = () if pilot.of_boots and _has_one_unit(rows) else _components(rows)
    planned = spend(found, _design(rows), goal, pilot.costs_of(name)) if found else None
    return {
        "components": {
            names.get(part.name, part.name): {
                "percent": 100 * part.variance**0.5,
                "share": part.share,
                "degrees_of_freedom": part.df,
            }
            for part in found
        },
        "spend": _spent(planned, pilot) if planned else None,
    }


def _has_one_unit(rows: Sequence[Timing]) -> bool:
    """Whether the layouts of a variant are of one boot, which says nothing of others."""
    return len({(row.variant, row.layout) for row in rows}) == len({row.variant for row in rows})


def _components(rows: Sequence[Timing]) -> tuple[Component, ...]:
    return variance_components(
        [row.value for row in rows],
        [row.variant for row in rows],
        [row.layout for row in rows],
        [row.boot for row in rows],
    )


def _design(rows: Sequence[Timing]) -> tuple[int, int]:
    """Boots a layout and runs a boot, on average."""
    layouts = {(row.variant, row.layout) for row in rows}
    boots = {(row.variant, row.layout, row.boot) for row in rows}
    return max(1, round(len(boots) / len(layouts))), max(1, round(len(rows) / len(boots)))


def _spent(planned: Spending, pilot: Pilot) -> dict[str, Any] | None:
    """seconds: of all the study's variants. None: no study has so many layouts."""
    counts = {"layouts": planned.layouts, "boots": planned.boots, "runs": planned.runs}
    if pilot.of_boots:
        layouts = planned.layouts * planned.boots * planned.runs
        if layouts > MOST_DRAWN:
            return None
        counts = {"layouts": layouts, "boots": planned.layouts, "runs": 1}
    return counts | {
        "seconds": planned.seconds * pilot.variants / 2,
        "sd_percent": 100 * planned.sd,
    }
