# SPDX-License-Identifier: GPL-2.0-or-later
"""What was observed in a study, and its logarithms by variant, workload and layout."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kernsmith.stats.means import Logs, logs_of, zero_shift

DEFAULT_LAYOUT = "default"

Cell = tuple[str, str]
"""A variant and a workload."""


@dataclass(frozen=True)
class Observation:
    """One metric of one run. block: trials of one block ran next to each other.

    layout: the unit of the sample: `default`, or a layout that was drawn, or a boot that several
        of these were replayed from; the same name in two variants is the same draw, or a pair.
    boot, run: replicates of the same unit and workload; unique within them.
    """

    variant: str
    layout: str
    workload: str
    boot: str
    run: int
    block: int
    metric: str
    value: float


@dataclass(frozen=True)
class Default:
    """The default layouts of two variants: what one would have got from one binary each.

    baseline, treated: the figures; of several workloads their geometric means.
    ratio: treated / baseline, by the rule for zeros (see `stats.means`).
    """

    baseline: float
    treated: float
    ratio: float


@dataclass(frozen=True)
class LogTable:
    """Logarithms of one metric of a study.

    drawn: by cell, the logarithm of each random layout in the order in which they were drawn;
        replicates are averaged, for they say nothing about other layouts.
    default: by cell, that of the default layout, where it was measured.
    figures: by cell, the values in the default layout. shifts: by workload, what was added to all
        values because of a zero.
    """

    metric: str
    drawn: Mapping[Cell, Mapping[str, float]]
    default: Mapping[Cell, float]
    figures: Mapping[Cell, Sequence[float]]
    shifts: Mapping[str, float]

    def layouts(self, cell: Cell) -> Mapping[str, float]:
        """The random layouts of a cell."""
        return self.drawn.get(cell, {})


def log_tables(rows: Iterable[Observation]) -> dict[str, LogTable]:
    """One table a metric.

    Raises:
        ValueError: negative or non-finite values.
    """
    by_metric: dict[str, list[Observation]] = {}
    for row in sorted(rows, key=lambda row: row.block):
        by_metric.setdefault(row.metric, []).append(row)
    return {metric: _table(metric, own) for metric, own in by_metric.items()}


def _table(metric: str, rows: Sequence[Observation]) -> LogTable:
    scopes: dict[str, list[float]] = {}
    for row in rows:
        scopes.setdefault(row.workload, []).append(row.value)
    shifts = {workload: zero_shift(values) for workload, values in scopes.items()}
    logs = np.log(np.array([row.value + shifts[row.workload] for row in rows]))
    found: dict[Cell, dict[str, list[float]]] = {}
    figures: dict[Cell, list[float]] = {}
    for row, value in zip(rows, logs.tolist(), strict=True):
        cell = (row.variant, row.workload)
        found.setdefault(cell, {}).setdefault(row.layout, []).append(value)
        if row.layout == DEFAULT_LAYOUT:
            figures.setdefault(cell, []).append(row.value)
    means = {cell: _means(by_layout) for cell, by_layout in found.items()}
    default = {
        cell: by_layout.pop(DEFAULT_LAYOUT)
        for cell, by_layout in means.items()
        if DEFAULT_LAYOUT in by_layout
    }
    return LogTable(metric, means, default, figures, shifts)


def _means(by_layout: Mapping[str, Sequence[float]]) -> dict[str, float]:
    return {layout: float(np.mean(values)) for layout, values in by_layout.items()}


def are_paired(table: LogTable, baseline: str, variant: str, workloads: Sequence[str]) -> bool:
    """Whether the two variants were measured in the same draws, or in default layouts only."""
    old, new = (
        {layout for workload in workloads for layout in table.layouts((name, workload))}
        for name in (baseline, variant)
    )
    return bool(old & new) or not (old or new)


def sides_of(
    table: LogTable, baseline: str, variant: str, workloads: Sequence[str], paired: bool
) -> tuple[Logs, Logs] | None:
    """Mean logarithms over ``workloads`` of each layout that all of them have; None without any.

    paired: layouts that both variants have, element i of one belongs to element i of the other.
    A study without random layouts is judged by its default layouts: one value, no interval.
    """
    cells = [[(name, workload) for workload in workloads] for name in (baseline, variant)]
    if not any(table.layouts(cell) for side in cells for cell in side):
        return _default_sides(table, cells)
    columns = [[table.layouts(cell) for cell in side] for side in cells]
    shared = [_shared(side) for side in columns]
    if paired:
        shared = 2 * [[layout for layout in shared[0] if layout in set(shared[1])]]
    if not shared[0] or not shared[1]:
        return None
    old, new = (
        np.mean([[column[layout] for layout in layouts] for column in side], axis=0)
        for side, layouts in zip(columns, shared, strict=True)
    )
    return np.asarray(old, dtype=float), np.asarray(new, dtype=float)


def _default_sides(table: LogTable, cells: Sequence[Sequence[Cell]]) -> tuple[Logs, Logs] | None:
    if not all(cell in table.default for side in cells for cell in side):
        return None
    old, new = (np.array([np.mean([table.default[cell] for cell in side])]) for side in cells)
    return old, new


def _shared(columns: Sequence[Mapping[str, float]]) -> list[str]:
    """Layouts that all workloads have, as they were drawn."""
    return [layout for layout in columns[0] if all(layout in column for column in columns)]


def default_of(
    table: LogTable, baseline: str, variant: str, workloads: Sequence[str]
) -> Default | None:
    """Of the default layouts; None where a workload was not measured in them on both sides."""
    cells = [[(name, workload) for workload in workloads] for name in (baseline, variant)]
    sides = _default_sides(table, cells)
    if sides is None:
        return None
    old, new = (_figure(table, side) for side in cells)
    return Default(old, new, float(np.exp(sides[1] - sides[0])[0]))


def _figure(table: LogTable, side: Sequence[Cell]) -> float:
    """As it was measured for one workload; for several their geometric mean."""
    if len(side) == 1 and len(table.figures[side[0]]) == 1:
        return table.figures[side[0]][0]
    logs = [float(np.mean(logs_of(table.figures[c], table.shifts[c[1]]))) for c in side]
    return float(np.exp(np.mean(logs)))
