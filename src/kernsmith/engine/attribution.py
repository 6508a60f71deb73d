# SPDX-License-Identifier: GPL-2.0-or-later
"""Which functions make the difference between a variant and the baseline."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from kernsmith.document import AttributionView, FunctionCostView
from kernsmith.engine.function_costs import (
    ALL,
    KEPT,
    Costs,
    FunctionCosts,
    costs_path,
    read_costs,
)
from kernsmith.engine.prepare import Prepared
from kernsmith.engine.traces import trace_path
from kernsmith.engine.verdicts import StudyResult
from kernsmith.kernel.artifact import Kernel
from kernsmith.machine.metrics import KERNEL_INSTRUCTIONS, MODEL_CYCLES

SHOWN = 40


def attributions(result: StudyResult) -> tuple[AttributionView, ...]:
    """Of each variant that can be compared with the baseline by function."""
    prepared = result.prepared
    costs: dict[str, list[FunctionCosts]] = {}
    for variant in prepared.variants:
        kernel = result.kernels.get(variant.name)
        found = [read_costs(path) for path in _paths(prepared, kernel)] if kernel else []
        costs[variant.name] = [each for each in found if each]
    base = prepared.variants[0].name
    whole = [name for name, found in costs.items() if len(found) == len(prepared.workloads)]
    if base not in whole:
        return ()
    names = tuple(workload.name for workload in prepared.workloads)
    return tuple(_compared(name, names, costs[base], costs[name]) for name in whole[1:])


def _compared(
    variant: str,
    workloads: Sequence[str],
    base: Sequence[FunctionCosts],
    other: Sequence[FunctionCosts],
) -> AttributionView:
    """By function of the source where both kernels tell that, else by symbol."""
    sources = [[each.source for each in side if each.source] for side in (base, other)]
    if all(len(side) == len(workloads) for side in sources):
        return attribution(variant, workloads, *sources, by_source=True)
    symbols = [[each.symbols for each in side] for side in (base, other)]
    return attribution(variant, workloads, *symbols, by_source=False)


def _paths(prepared: Prepared, kernel: Kernel) -> list[Path]:
    machine = prepared.machine
    if machine.cpu is None:
        return []
    cpu = machine.cpu
    return [costs_path(trace_path(kernel, each, machine), cpu) for each in prepared.workloads]


def attribution(
    variant: str,
    workloads: Sequence[str],
    base: Sequence[Costs],
    other: Sequence[Costs],
    *,
    by_source: bool,
) -> AttributionView:
    """The difference by function; base, other: costs of the workloads, in their order."""
    weights = [1e6 / each[ALL][KERNEL_INSTRUCTIONS] / len(base) for each in base]
    before, after = _weighted(base, weights), _weighted(other, weights)
    cycles = before[ALL][MODEL_CYCLES]

    def change(name: str) -> float:
        return 100 * (after[name][MODEL_CYCLES] - before[name][MODEL_CYCLES]) / cycles

    ran = (before.keys() | after.keys()) - {ALL}
    ordered = sorted(ran, key=lambda name: (-abs(change(name)), name))
    shown, others = ordered[:SHOWN], ordered[SHOWN:]
    return AttributionView(
        variant=variant,
        by_source=by_source,
        workloads=tuple(workloads),
        change=change(ALL),
        rest=sum(map(change, others)),
        repeated=change(ALL) - sum(map(change, ordered)),
        ran=len(ran),
        functions=tuple(_function(name, change(name), before[name], after[name]) for name in shown),
    )


def _weighted(
    costs: Sequence[Costs], weights: Sequence[float]
) -> defaultdict[str, dict[str, float]]:
    """The sum over workloads; 0 of a function that did not run."""
    found: defaultdict[str, dict[str, float]] = defaultdict(lambda: dict.fromkeys(KEPT, 0.0))
    for of_workload, weight in zip(costs, weights, strict=True):
        for name, figures in of_workload.items():
            for metric in KEPT:
                found[name][metric] += weight * figures[metric]
    return found


def _function(
    name: str, change: float, before: Mapping[str, float], after: Mapping[str, float]
) -> FunctionCostView:
    def pair(*metrics: str) -> tuple[float, float]:
        first, second = (sum(side[metric] for metric in metrics) for side in (before, after))
        return first, second

    return FunctionCostView(
        name=name,
        change=change,
        model_cycles=pair(MODEL_CYCLES),
        kernel_instructions=pair(KERNEL_INSTRUCTIONS),
        l1i_misses=pair("l1i_misses"),
        itlb_misses=pair("itlb_misses"),
        mispredictions=pair("branch_mispredictions", "indirect_mispredictions"),
    )
