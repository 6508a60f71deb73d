# SPDX-License-Identifier: GPL-2.0-or-later
"""What each workload of a study asks of the baseline's kernel: from its runs, from what its trace
costs by function, and from its training."""

from __future__ import annotations

from collections.abc import Sequence

from kernsmith.document import RunView, StressView
from kernsmith.document.hottest import HotFunctionView
from kernsmith.engine.function_costs import ALL, Costs, costs_path, read_costs
from kernsmith.engine.hottest import hottest_functions
from kernsmith.engine.traces import trace_path
from kernsmith.engine.training import kept_counts
from kernsmith.engine.verdicts import StudyResult
from kernsmith.errors import UserError
from kernsmith.guest.workloads import Workload
from kernsmith.kernel.artifact import Kernel
from kernsmith.machine.metrics import KERNEL_INSTRUCTIONS, USER_INSTRUCTIONS
from kernsmith.profile import read_counts
from kernsmith.stats.means import geometric_mean

SHOWN = 5


def find_stress(
    result: StudyResult, runs: Sequence[RunView], metric: str
) -> tuple[StressView, ...]:
    """Of each workload of the study, in its order. metric: of whose figures the spread is told."""
    baseline = result.prepared.variants[0].name
    own = [run for run in runs if run.variant == baseline and run.metrics]
    several = result.prepared.study.design.boots > 1
    found = []
    for workload in result.prepared.workloads:
        runs_of = [run for run in own if run.workload == workload.name]
        found.append(
            StressView(
                workload.name,
                kernel_share(runs_of),
                layout_spread(runs_of, metric),
                _functions(result, workload),
                per_operation(runs_of, metric, workload),
                _spread_of_boots(runs_of) if several else None,
            )
        )
    return tuple(found)


def per_operation(runs: Sequence[RunView], metric: str, workload: Workload) -> float | None:
    """Of one operation; what a workload tells itself is no amount of all of them."""
    values = [run.metrics[metric] for run in runs if run.metrics.get(metric, 0.0) > 0]
    if not values or metric in (each.name for each in workload.metrics):
        return None
    return geometric_mean(values) / workload.done


def kernel_share(runs: Sequence[RunView]) -> float | None:
    """Of the first run that counted instructions in both modes; a replay knows those of the boot
    that it replays or none."""
    for run in runs:
        kernel = run.metrics.get(KERNEL_INSTRUCTIONS)
        user = run.metrics.get(USER_INSTRUCTIONS)
        if kernel is not None and user is not None and kernel + user > 0:
            return kernel / (kernel + user)
    return None


def layout_spread(runs: Sequence[RunView], metric: str) -> float | None:
    """In per cent, see `StressView`. Several runs in a layout are its geometric mean."""
    by_layout: dict[str, list[float]] = {}
    for run in runs:
        if run.layout != "default" and run.metrics.get(metric, 0.0) > 0:
            by_layout.setdefault(run.layout, []).append(run.metrics[metric])
    if len(by_layout) < 2:
        return None
    values = [geometric_mean(each) for each in by_layout.values()]
    return 100 * (max(values) - min(values)) / geometric_mean(values)


def _spread_of_boots(runs: Sequence[RunView]) -> float | None:
    """Of instructions, in per cent: no layout changes them, so a replay has those of its boot."""
    replays = [run for run in runs if run.replayed]
    return layout_spread(replays, KERNEL_INSTRUCTIONS)


def _functions(result: StudyResult, workload: Workload) -> tuple[HotFunctionView, ...]:
    kernel = result.kernels.get(result.prepared.variants[0].name)
    if kernel is None:
        return ()
    return _traced(result, kernel, workload) or _trained(result, kernel, workload)


def _traced(result: StudyResult, kernel: Kernel, workload: Workload) -> tuple[HotFunctionView, ...]:
    machine = result.prepared.machine
    if machine.cpu is None:
        return ()
    costs = read_costs(costs_path(trace_path(kernel, workload, machine), machine.cpu))
    return hottest_costs(costs.symbols)[:SHOWN] if costs else ()


def hottest_costs(costs: Costs) -> tuple[HotFunctionView, ...]:
    """By instructions; how often a function is entered is not told there."""
    whole = costs[ALL][KERNEL_INSTRUCTIONS]
    parts = {name: each[KERNEL_INSTRUCTIONS] for name, each in costs.items() if name != ALL}
    hottest = sorted(parts.items(), key=lambda part: (-part[1], part[0]))
    return tuple(HotFunctionView(name, part / whole, None) for name, part in hottest if part)


def _trained(
    result: StudyResult, kernel: Kernel, workload: Workload
) -> tuple[HotFunctionView, ...]:
    path = kept_counts(kernel, workload, result.prepared.trainer)
    if path is None:
        return ()
    try:
        return hottest_functions(read_counts(path), kernel)[:SHOWN]
    except UserError:
        return ()
