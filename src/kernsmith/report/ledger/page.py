# SPDX-License-Identifier: GPL-2.0-or-later
"""What `kernsmith report` tells of a study besides its document: what more it would take."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, inf

from kernsmith.report.page import Column, Details, Heading, Section, Table, Value
from kernsmith.stats.study import MetricAnalysis, WorkloadComponents


def variance_sections(found: Sequence[MetricAnalysis]) -> list[Section]:
    """Of each metric, folded: components of variance, needed layouts, the sequential look."""
    folded: list[Section] = [
        Details(each.metric, tables) for each in found if (tables := _tables(each))
    ]
    return [Heading("Where the variance comes from"), *folded] if folded else []


def _tables(found: MetricAnalysis) -> list[Section]:
    tables: list[Section] = []
    if found.components:
        tables += [_component_table(found.components), _need_table(found.components)]
    if found.sequential:
        tables.append(_sequential(found))
    return tables


def _component_table(found: Sequence[WorkloadComponents]) -> Table:
    rows: list[list[Value]] = [
        [each.workload, part.name, part.variance, part.share, part.df]
        for each in found
        for part in each.components
    ]
    columns = [
        Column("workload"), Column("source"), Column("variance of logarithms", ".4g"),
        Column("share", ".1%"), Column("df", "d"),
    ]  # fmt: skip
    return Table(columns, rows, "Where the variance within variants comes from")


def _need_table(found: Sequence[WorkloadComponents]) -> Table:
    rows: list[list[Value]] = [
        [each.workload, need.percent, need.power, need.layouts, need.runs]
        for each in found
        for need in each.needs
    ]
    columns = [
        Column("workload"), Column("change", "g", "%"), Column("power", ".0%"),
        Column("layouts a variant", ",d"), Column("or runs a boot", ",d"),
    ]  # fmt: skip
    caption = (
        "What it takes to see such a change between two variants with independent layouts; no "
        "number of runs: the layouts themselves differ by more"
    )
    return Table(columns, rows, caption)


def _sequential(found: MetricAnalysis) -> Table:
    rows: list[list[Value]] = [
        [variant, look.n, exp(look.mean), exp(look.low), _exp(look.high), look.p]
        for variant, look in found.sequential
    ]
    columns = [
        Column("variant"), Column("layouts", "d"), Column("ratio", ".5f"), Column("low", ".5f"),
        Column("high", ".5f"), Column("p", ".3g"),
    ]  # fmt: skip
    caption = (
        "Always-valid intervals of the overall ratio: they hold even if this study was looked at "
        "after every layout and stopped when it pleased"
    )
    return Table(columns, rows, caption)


def _exp(value: float) -> float:
    return exp(value) if value < 700 else inf
