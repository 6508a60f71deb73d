# SPDX-License-Identifier: GPL-2.0-or-later
"""What may be held against real times: drifts, outliers, and a robust estimate that disagrees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from kernsmith.engine.verdicts import Measured, StudyResult, nested
from kernsmith.ledger import RunRow
from kernsmith.machine.conditions import WARNINGS
from kernsmith.stats.nested import NestedEffect, Outlier, Timing, nested_effect
from kernsmith.study import Design, Layout, Trial


def find_disturbances(result: StudyResult, metric: str) -> tuple[str, ...]:
    """In sentences, of each variant and workload; told, and taken out of nothing.

    Empty where runs are equal. Of drifts and outliers nothing where a boot has one run:
    `stats.nested` has the formulas.
    """
    prepared = result.prepared
    if prepared.machine.exact:
        return ()
    if prepared.study.design.runs == 1:
        return tuple(_beside(result.measured))
    baseline, *others = dict.fromkeys(variant.name for variant in prepared.variants)
    found: list[str] = []
    for workload in prepared.workloads:
        rows = timings(result.measured, workload.name, metric, prepared.study.design)
        timed = {row.variant for row in rows}
        for name in others:
            if {baseline, name} <= timed:
                effect = nested_effect(rows, baseline, name, alpha=prepared.study.design.alpha)
                found += _sentences(effect, name, workload.name)
    return (*dict.fromkeys(found), *_beside(result.measured))


def _beside(measured: Sequence[Measured]) -> Iterator[str]:
    """What went on on the machine beside runs, and what it was like in a way that moves times, as
    these have it (`machine.batch`, `machine.conditions`)."""
    runs = [item.run.provenance for item in measured if item.run is not None and item.run.ok]

    def of(name: str) -> tuple[list[Any], str]:
        found = [run[name] for run in runs if run.get(name)]
        return found, f"{len(found)} of {len(runs)} runs"

    people, count = of("people")
    if people:
        yield f"somebody was logged in on the machine, at a terminal or a display, during {count}"
    others, count = of("others")
    if others:
        yield f"processors also worked for others for more than a fifth of the time, in {count}"
    asleep, count = of("asleep")
    if asleep:
        yield f"the machine slept during {count}, {max(map(max, asleep)):.3g} s at most"
    jumps, count = of("clock_jumps")
    if jumps:
        most = max((jump for each in jumps for jump in each), key=abs)
        yield f"the wall clock was set during {count}, by {most:+.3g} s at most; no figure is by it"
    told = [pair for run in runs for pair in run.get(WARNINGS, {}).items()]
    for name, times in Counter(name for name, _ in told).items():
        warning = dict(told)[name]  # the last: heat has a number in each
        yield warning if times == len(runs) else f"{warning} ({times} of {len(runs)} runs)"


def timings(
    measured: Sequence[Measured], workload: str, metric: str, design: Design
) -> list[Timing]:
    """Runs in random layouts; in the default one, where there are no others.

    A run that has several places in the plan of a variant is one (see `verdicts.observations`).
    """
    rows = {
        (item.trial.variant.name, item.digest): (
            item.trial.layout,
            _timing(item.trial, item.run, value, design),
        )
        for item in measured
        if item.trial.workload == workload and item.run is not None and item.run.ok
        if (value := item.run.metrics.get(metric, (0.0, ""))[0]) > 0
    }
    drawn = [row for layout, row in rows.values() if layout != Layout()]
    return drawn or [row for _, row in rows.values()]


def _timing(trial: Trial, run: RunRow, value: float, design: Design) -> Timing:
    layout, boot, number = str(trial.layout), str(trial.block), trial.replicate
    if design.boots > 1:
        at = nested(trial, run, design)
        layout, boot, number = at.unit, at.boot, at.run
    # Boots of a block stand next to each other.
    return Timing(trial.variant.name, layout, boot, str(number), value, trial.position)


def _sentences(found: NestedEffect, variant: str, workload: str) -> list[str]:
    lines = []
    if found.robust_differs and found.robust is not None:
        lines.append(
            f"{variant} on {workload}: the robust estimate, {100 * (found.robust.ratio - 1):+.3g} "
            "%, lies outside the interval: some layouts are far from the others"
        )
    for drift in found.drifts:
        where = "the runs of a boot" if drift.within == "boots" else "the study"
        lines.append(
            f"{drift.variant} on {workload}: times move by {drift.percent:+.3g} % over {where}, "
            f"p = {drift.p:.2g}"
        )
    # Layouts are what a study draws: one that is far from the others is no disturbance.
    outliers = [each for each in found.outliers if each.level != "layout"]
    kinds = Counter((each.variant, each.level) for each in outliers)
    for (name, level), count in kinds.items():
        mine = [each for each in outliers if (each.variant, each.level) == (name, level)]
        lines.append(_outliers_line(mine, count, f"{name} on {workload}"))
    return lines


def _outliers_line(outliers: Sequence[Outlier], count: int, where: str) -> str:
    farthest = max(outliers, key=lambda each: abs(each.percent))
    what = f"1 {farthest.level} is" if count == 1 else f"{count} {farthest.level}s are"
    return f"{where}: {what} far from the like, by {farthest.percent:+.3g} % at most; all count"
