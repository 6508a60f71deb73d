# SPDX-License-Identifier: GPL-2.0-or-later
"""The change itself, and where the code happened to land: told apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kernsmith.document import LuckView, MixView, RunView, VerdictView
from kernsmith.document.study import INSTRUCTIONS, OVERALL
from kernsmith.stats.means import geometric_mean

Spread = Mapping[str, tuple[float, float]]
"""By variant, see `LuckView`."""


def find_mixes(
    runs: Sequence[RunView], workloads: Sequence[str], metrics: Sequence[str]
) -> tuple[MixView, ...]:
    """Of each variant and metric, the geometric mean over workloads in each random layout.

    A layout counts in which every workload has a figure above 0.
    """
    return tuple(mix for metric in metrics for mix in _mixes(runs, set(workloads), metric))


def find_luck(
    verdicts: Sequence[VerdictView],
    mixes: Sequence[MixView],
    metric: str,
    in_words: Callable[[VerdictView, Spread], str],
) -> tuple[LuckView, ...]:
    """For each variant: the study's own metric, and its instructions.

    in_words: makes the sentence of a verdict and the spread of layouts by variant.
    """
    return tuple(
        _luck(verdict, {mix.variant: mix for mix in mixes if mix.metric == name}, in_words)
        for name in dict.fromkeys((metric, INSTRUCTIONS))
        for verdict in verdicts
        if verdict.workload == OVERALL and verdict.metric == name and verdict.ci
    )


def _mixes(runs: Sequence[RunView], workloads: set[str], metric: str) -> list[MixView]:
    cells: dict[tuple[str, int], dict[str, list[float]]] = {}
    for run in runs:
        if run.layout != "default" and metric in run.metrics:
            cell = cells.setdefault((run.variant, run.block), {})
            cell.setdefault(run.workload, []).append(run.metrics[metric])
    values: dict[str, list[tuple[int, float]]] = {}
    for (variant, block), cell in sorted(cells.items()):
        if set(cell) == workloads and min(map(min, cell.values())) > 0:
            # Several runs in a boot are one figure of their workload.
            figures = [geometric_mean(each) for each in cell.values()]
            values.setdefault(variant, []).append((block, geometric_mean(figures)))
    return [_mix(variant, metric, found) for variant, found in values.items()]


def _mix(variant: str, metric: str, values: list[tuple[int, float]]) -> MixView:
    figures = [value for _, value in values]
    mean = geometric_mean(figures)
    low, high = (100 * (end / mean - 1) for end in (min(figures), max(figures)))
    return MixView(variant, metric, tuple(values), low, high)


def _luck(
    verdict: VerdictView,
    mixes: Mapping[str, MixView],
    in_words: Callable[[VerdictView, Spread], str],
) -> LuckView:
    default = verdict.default_ratio
    spread = {variant: (mix.low, mix.high) for variant, mix in mixes.items()}
    return LuckView(
        variant=verdict.variant,
        metric=verdict.metric,
        change=100 * (verdict.ratio - 1),
        default_change=None if default is None else 100 * (default - 1),
        spread=spread,
        sentence=in_words(verdict, spread),
    )
