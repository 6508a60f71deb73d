# SPDX-License-Identifier: GPL-2.0-or-later
"""How an effect goes with a factor whose levels are numbers: a sampling period, an alignment."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from math import nan

from kernsmith.document import StudyDocument, VerdictView
from kernsmith.document.study import OVERALL
from kernsmith.report.charts import CurvePoint, curve_plot
from kernsmith.report.page import Chart
from kernsmith.report.study.words import confidence

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
    for factor, words in _factors(document).items():
        if sum(number is not None for number in map(_number, words)) < FEWEST:
            continue
        curves, others = _curves(document, factor)
        if not curves:
            continue
        metric = document.study.metric
        title = f"{metric}, ratio to {document.baseline}"
        beside = [word for word in words if _number(word) is None]
        caption = f"{metric} over {factor}, {confidence(document)} intervals over layouts"
        if others:
            caption += f"; dashed: {factor}={', '.join(beside)}"
        charts.append(Chart(curve_plot(curves, others, factor, title), caption))
    return charts


def _factors(document: StudyDocument) -> dict[str, list[str]]:
    """The levels of each factor, in the order of the variants."""
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for variant in document.variants:
        for factor, level in variant.levels.items():
            found[factor][level] = None
    return {factor: list(levels) for factor, levels in found.items()}


def _curves(document: StudyDocument, factor: str) -> tuple[Curves, dict[str, float]]:
    """The points of each curve, and what levels that are no numbers gave, by the same names."""
    curves: dict[str, list[CurvePoint]] = defaultdict(list)
    others: dict[str, float] = {}
    for variant in document.variants:
        if variant.baseline or factor not in variant.levels:
            continue
        rest = [f"{name}={level}" for name, level in variant.levels.items() if name != factor]
        number = _number(variant.levels[factor])
        for mix, verdict in _verdicts(document, variant.name):
            name = (
                ", ".join(part for part in (" ".join(rest), mix) if part) or document.study.metric
            )
            low, high = verdict.ci or (None, None)
            if number is None:
                others[name] = verdict.ratio
            else:
                bounds = (nan if bound is None else bound for bound in (low, high))
                curves[name].append(CurvePoint(number, verdict.ratio, *bounds))
    # A curve of one point is a variant that has nothing to do with the factor.
    curves = {name: sorted(points) for name, points in curves.items() if len(points) >= FEWEST}
    return curves, {name: value for name, value in others.items() if name in curves}


def _verdicts(document: StudyDocument, variant: str) -> Iterator[tuple[str, VerdictView]]:
    """What all workloads say, or, apart, what it was trained on and what not."""
    mixes = {
        each.workload: each
        for each in document.verdicts_of(variant, document.study.metric, mixes=True)
    }
    parts = [name for name in _MIXES if name in mixes]
    if parts:
        yield from ((_MIXES[name], mixes[name]) for name in parts)
    elif OVERALL in mixes:
        yield "", mixes[OVERALL]


def _number(level: str) -> float | None:
    """The number that a level is; only positive ones have a place on a logarithmic axis."""
    return float(level) if level.isascii() and level.isdecimal() and int(level) > 0 else None
