# SPDX-License-Identifier: GPL-2.0-or-later
"""Which functions make the difference between a variant and the baseline."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from kernsmith.document import AttributionView, FunctionCostView
from kernsmith.engine.collisions import collisions_view
from kernsmith.engine.flame import flame_view, folded
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
# So many of them are those of which most instructions more or less are executed, whatever these
# cost: layout moves cycles of all functions, and instructions of none.
_OTHERWISE = 8


def attributions(result: StudyResult) -> tuple[AttributionView, ...]:
    """Of each variant that can be compared with the baseline by function."""
    names = tuple(workload.name for workload in result.prepared.workloads)
    return tuple(_compared(name, names, *sides) for name, sides in _known(result).items())


def folded_stacks(result: StudyResult) -> dict[str, str]:
    """By variant, what stacks of functions cost in it and in the baseline: see `folded`."""
    found = {}
    for name, (base, other) in _known(result).items():
        stacks = [[each.stacks for each in side if each.stacks] for side in (base, other)]
        weights = weights_of([each.symbols for each in base])
        if all(len(side) == len(weights) for side in stacks):
            found[name] = folded(stacks[0], stacks[1], weights)
    return found


def _known(result: StudyResult) -> dict[str, tuple[list[FunctionCosts], list[FunctionCosts]]]:
    """Costs of the baseline and of each variant by workload, where they are known of all."""
    prepared = result.prepared
    costs: dict[str, list[FunctionCosts]] = {}
    for variant in prepared.variants:
        kernel = result.kernels.get(variant.name)
        found = [read_costs(path) for path in _paths(prepared, kernel)] if kernel else []
        whole = [each for each in found if each]
        if len(whole) == len(prepared.workloads):
            costs[variant.name] = whole
    base = costs.pop(prepared.variants[0].name, None)
    return {name: (base, found) for name, found in costs.items()} if base else {}


def _compared(
    variant: str,
    workloads: Sequence[str],
    base: Sequence[FunctionCosts],
    other: Sequence[FunctionCosts],
) -> AttributionView:
    """By function of the source where both kernels tell that, else by symbol."""
    sources = [[each.source for each in side if each.source] for side in (base, other)]
    symbols = [[each.symbols for each in side] for side in (base, other)]
    by_source = all(len(side) == len(workloads) for side in sources)
    tables = sources if by_source else symbols
    found = attribution(variant, workloads, *tables, by_source=by_source)
    weights = weights_of(symbols[0])
    collided = [[each.collisions for each in side if each.collisions] for side in (base, other)]
    if all(len(side) == len(workloads) for side in collided):
        found = replace(found, collisions=collisions_view(collided[0], collided[1], weights))
    stacks = [[each.stacks for each in side if each.stacks] for side in (base, other)]
    if by_source and all(len(side) == len(workloads) for side in stacks):
        found = replace(found, flame=flame_view(stacks[0], stacks[1], weights))
    return found


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
    weights = weights_of(base)
    before, after = _weighted(base, weights), _weighted(other, weights)
    cycles = before[ALL][MODEL_CYCLES]

    def change(name: str) -> float:
        return 100 * (after[name][MODEL_CYCLES] - before[name][MODEL_CYCLES]) / cycles

    def executed(name: str) -> float:
        return abs(after[name][KERNEL_INSTRUCTIONS] - before[name][KERNEL_INSTRUCTIONS])

    ran = (before.keys() | after.keys()) - {ALL}
    ordered = sorted(ran, key=lambda name: (-abs(change(name)), name))
    otherwise = sorted(filter(executed, ran), key=lambda name: (-executed(name), name))
    first = set(otherwise[:_OTHERWISE])
    first |= set([name for name in ordered if name not in first][: SHOWN - len(first)])
    shown = [name for name in ordered if name in first]
    others = [name for name in ordered if name not in first]
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


def weights_of(base: Sequence[Costs]) -> list[float]:
    """By workload: figures become those of each million kernel instructions of the baseline, mean
    over workloads."""
    return [1e6 / each[ALL][KERNEL_INSTRUCTIONS] / len(base) for each in base]


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
