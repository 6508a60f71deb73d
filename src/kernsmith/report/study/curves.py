# SPDX-License-Identifier: GPL-2.0-or-later
"""How an effect goes with a factor whose levels are numbers: a sampling period, an alignment."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import inf, nan

from kernsmith.document import StudyDocument, VariantView
from kernsmith.document.study import OVERALL
from kernsmith.report.charts import CurvePoint, curve_plot
from kernsmith.report.page import Chart
from kernsmith.report.study.words import confidence
from kernsmith.study.factors.label import FACTOR as LABEL
from kernsmith.study.variant import HELD_OUT

FEWEST = 3
"""Levels that are numbers: fewer make no curve."""
_MIXES = {
    "overall-trained": "trained on",
    "overall-held-out": "held out",
}

Curves = Mapping[str, list[CurvePoint]]


def curve_charts(document: StudyDocument) -> list[Chart]:
    """A chart for each factor with at least `FEWEST` levels that are numbers."""
    charts = []
    for factor, levels in _factors(document).items():
        if sum(number is not None for number in map(_number, levels)) < FEWEST:
            continue
        beside = next((level for level in levels if _number(level) is None), "")
        curves, others = _curves(document, factor, beside)
        if not curves:
            continue
        metric = document.study.metric
        title = f"{metric}, ratio to {document.baseline}"
        caption = f"{metric} over {factor}, {confidence(document)} intervals over {document.sample}"
        if others:
            caption += f"; dashed: {factor}={beside}"
        charts.append(Chart(curve_plot(curves, others, factor, title), caption))
    return charts


def _factors(document: StudyDocument) -> dict[str, list[str]]:
    """The levels of each factor, in the order of the variants; labels that are numbers count
    nothing."""
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for variant in document.variants:
        for factor, level in variant.levels.items():
            if factor != LABEL.name:
                found[factor][level] = None
    return {factor: list(levels) for factor, levels in found.items()}


def _curves(document: StudyDocument, factor: str, beside: str) -> tuple[Curves, dict[str, float]]:
    """The points of each curve, and what the level `beside` gave, by the same names."""
    curves: dict[str, list[CurvePoint]] = defaultdict(list)
    others: dict[str, float] = {}
    for variant in document.variants:
        level = variant.levels.get(factor)
        if level is None:
            continue
        number = _number(level)
        for name, point in _points(document, variant, factor):
            if number is not None:
                curves[name].append(replace(point, at=number))
            elif level == beside:
                others[name] = point.estimate
    # A curve of one point is a variant that has nothing to do with the factor.
    curves = {name: sorted(points) for name, points in curves.items() if len(points) >= FEWEST}
    return curves, {name: value for name, value in others.items() if name in curves}


def _points(
    document: StudyDocument, variant: VariantView, factor: str
) -> Iterator[tuple[str, CurvePoint]]:
    """What all workloads say of a variant, or, apart, what it was trained on and what not; by the
    name of the curve that it is a point of."""
    metric = document.study.metric
    levels = [f"{name}={level}" for name, level in variant.levels.items() if name != factor]
    if variant.baseline:
        yield " ".join(levels) or metric, CurvePoint(0.0, 1.0, nan, nan)
    mixes = {one.workload: one for one in document.verdicts_of(variant.name, metric, mixes=True)}
    parts = {title: mixes[name] for name, title in _MIXES.items() if name in mixes}
    if not parts and OVERALL in mixes:
        parts = {"": mixes[OVERALL]}
    for one in document.verdicts_of(f"{variant.name}{HELD_OUT}", metric, mixes=True):
        if one.workload == OVERALL:
            parts["held out"] = one
    for title, one in parts.items():
        low, high = (nan if bound is None else bound for bound in one.ci or (None, None))
        name = ", ".join(part for part in (" ".join(levels), title) if part) or metric
        yield name, CurvePoint(0.0, one.ratio, low, high)


def _number(level: str) -> float | None:
    """The number that a level is; only positive ones have a place on a logarithmic axis."""
    number = float(level) if level.isascii() and level.isdecimal() else 0.0
    return number if 0 < number < inf else None
