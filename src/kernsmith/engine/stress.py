# SPDX-License-Identifier: GPL-2.0-or-later
"""What each workload of a study asks of the baseline's kernel: from its runs and its training."""

from __future__ import annotations

from collections.abc import Sequence

from kernsmith.document import RunView, StressView
from kernsmith.document.hottest import HotFunctionView
from kernsmith.engine.hottest import hottest_functions
from kernsmith.engine.training import kept_counts
from kernsmith.engine.verdicts import StudyResult
from kernsmith.errors import UserError
from kernsmith.guest.workloads import Workload
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
    return tuple(
        StressView(
            workload.name,
            kernel_share([run for run in own if run.workload == workload.name]),
            layout_spread([run for run in own if run.workload == workload.name], metric),
            _functions(result, workload),
        )
        for workload in result.prepared.workloads
    )


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


def _functions(result: StudyResult, workload: Workload) -> tuple[HotFunctionView, ...]:
    kernel = result.kernels.get(result.prepared.variants[0].name)
    if kernel is None:
        return ()
    path = kept_counts(kernel, workload, result.prepared.trainer)
    if path is None:
        return ()
    try:
        return hottest_functions(read_counts(path), kernel)[:SHOWN]
    except UserError:
        return ()
