# SPDX-License-Identifier: GPL-2.0-or-later
"""What `kernsmith report` tells of a study besides its document: what more it would take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import exp, inf

from kernsmith.report.page import Column, Details, Heading, Section, Table, Value
from kernsmith.stats.components import LEVELS_OF_BOOTS
from kernsmith.stats.study import MetricAnalysis, WorkloadComponents


@dataclass(frozen=True)
class _Names:
    """What is nested in what, as a report calls it.

    levels: by the names of `stats.components`. unit, inner: what the sample is of, and what there
    are several of in each.
    """

    unit: str = "layout"
    inner: str = "run"
    levels: Mapping[str, str] = field(default_factory=dict)


_OF_LAYOUTS = _Names()

_OF_BOOTS = _Names("boot", "layout", LEVELS_OF_BOOTS)
"""Layouts are dealt out to boots, see `Design.boots`."""


def variance_sections(found: Sequence[MetricAnalysis], boots: int = 1) -> list[Section]:
    """Of each metric, folded: components of variance, needed layouts, the sequential look.

    boots: that layouts are dealt out to, see `Design.boots`.
    """
    if boots > 1 and all(verdict.effect.n == 1 for each in found for verdict in each.verdicts):
        return []  # one boot says nothing about others, however many layouts it has
    names = _OF_BOOTS if boots > 1 else _OF_LAYOUTS
    folded: list[Section] = [
        Details(each.metric, tables) for each in found if (tables := _tables(each, names))
    ]
    return [Heading("Where the variance comes from"), *folded] if folded else []


def _tables(found: MetricAnalysis, names: _Names) -> list[Section]:
    tables: list[Section] = []
    if found.components:
        tables += [
            _component_table(found.components, names),
            _need_table(found.components, names),
        ]
    if found.sequential:
        tables.append(_sequential(found, names))
    return tables


def _component_table(found: Sequence[WorkloadComponents], names: _Names) -> Table:
    rows: list[list[Value]] = [
        [each.workload, names.levels.get(part.name, part.name), part.variance, part.share, part.df]
        for each in found
        for part in each.components
    ]
    columns = [
        Column("workload"), Column("source"), Column("variance of logarithms", ".4g"),
        Column("share", ".1%"), Column("df", "d"),
    ]  # fmt: skip
    return Table(columns, rows, "Where the variance within variants comes from")


def _need_table(found: Sequence[WorkloadComponents], names: _Names) -> Table:
    rows: list[list[Value]] = [
        [each.workload, need.percent, need.power, need.layouts, need.runs]
        for each in found
        for need in each.needs
    ]
    columns = [
        Column("workload"), Column("change", "g", "%"), Column("power", ".0%"),
        Column(f"{names.unit}s a variant", ",d"), Column(f"or {names.inner}s a boot", ",d"),
    ]  # fmt: skip
    caption = (
        f"What it takes to see such a change between two variants with independent {names.unit}s; "
        f"no number of {names.inner}s: the {names.unit}s themselves differ by more"
    )
    return Table(columns, rows, caption)


def _sequential(found: MetricAnalysis, names: _Names) -> Table:
    rows: list[list[Value]] = [
        [variant, look.n, exp(look.mean), exp(look.low), _exp(look.high), look.p]
        for variant, look in found.sequential
    ]
    columns = [
        Column("variant"), Column(f"{names.unit}s", "d"), Column("ratio", ".5f"),
        Column("low", ".5f"), Column("high", ".5f"), Column("p", ".3g"),
    ]  # fmt: skip
    caption = (
        "Always-valid intervals of the overall ratio: they hold even if this study was looked at "
        f"after every {names.unit} and stopped when it pleased"
    )
    return Table(columns, rows, caption)


def _exp(value: float) -> float:
    return exp(value) if value < 700 else inf
