# SPDX-License-Identifier: GPL-2.0-or-later
"""The charts, as Altair objects: the same object goes into the page and into SVG or PNG files.

Data fields have names of their own (``group``, ``value``, …), so column names and levels with
dots, brackets or quotes never reach Vega's expression language. Text is drawn in
``currentColor``: in the page it follows light and dark mode; `save_chart` draws it black on white.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from math import isfinite
from typing import Any, Literal

import altair as alt
import numpy as np
import scipy

PALETTE = (
    "#2f81c7", "#d9730d", "#2e9e6b", "#c2559d", "#8a6fd1", "#a08a00", "#d24b4b", "#6b7280",
)  # fmt: skip
"""Readable on white and on black."""

MAX_POINTS = 400
"""Points drawn of one group; of larger groups an even sample in the order given is drawn."""

AnyChart = alt.Chart | alt.LayerChart | alt.FacetChart
_WIDTH = 620
INK = "currentColor"


@dataclass(frozen=True)
class Interval:
    """One line of an interval or forest plot.

    estimate, low, high: in the unit of the plot's axis; NaN bounds draw the estimate alone.
    kind: what the colour says: `better`, `worse`, `different`, or `same`.
    overall: drawn as a diamond, for the line that sums up the others.
    mark: a second figure, drawn as a square; None for none.
    """

    label: str
    estimate: float
    low: float
    high: float
    kind: str = "same"
    overall: bool = False
    mark: float | None = None


@dataclass(frozen=True, order=True)
class CurvePoint:
    """One point of a curve; NaN bounds draw the estimate alone."""

    at: float
    estimate: float
    low: float
    high: float


_KINDS = {"better": "#2e9e6b", "worse": "#d24b4b", "different": "#2f81c7", "same": "#8b93a1"}


def box_plot(samples: Mapping[str, Sequence[float]], value_title: str) -> AnyChart:
    """Box plot with the points over it, one row a group.

    Boxes are the quartiles, whiskers the furthest values within 1.5 interquartile ranges
    (Tukey 1977); the points beside them are the values themselves.
    """
    boxes = [_box(name, np.asarray(values, dtype=float)) for name, values in samples.items()]
    points = [
        {"group": name, "value": float(value), "jitter": _jitter(index)}
        for name, values in samples.items()
        for index, value in enumerate(_thinned(values))
    ]
    order = list(samples)
    y = alt.Y("group:N", sort=order, title=None)
    x_title = alt.Axis(title=value_title)
    scale = alt.Scale(zero=False, nice=True)
    base = alt.Chart(_inline(boxes)).encode(y=y)
    whisker = base.mark_rule(color=INK).encode(
        x=alt.X("low:Q", scale=scale, axis=x_title), x2="high:Q"
    )
    box = base.mark_bar(color=PALETTE[0], opacity=0.35, stroke=PALETTE[0], size=24).encode(
        x=alt.X("q1:Q", scale=scale),
        x2="q3:Q",
        tooltip=[
            alt.Tooltip("group:N", title="group"),
            alt.Tooltip("q1:Q", title="lower quartile"),
            alt.Tooltip("median:Q", title="median"),
            alt.Tooltip("q3:Q", title="upper quartile"),
        ],
    )
    median = base.mark_tick(color=PALETTE[0], thickness=2.5, height=20).encode(
        x=alt.X("median:Q", scale=scale)
    )
    dots = (
        alt.Chart(_inline(points))
        .mark_circle(color=PALETTE[1], size=26, opacity=0.75)
        .encode(
            y=y,
            yOffset=alt.YOffset("jitter:Q", scale=alt.Scale(domain=[-1, 1])),
            x=alt.X("value:Q", scale=scale),
            tooltip=[
                alt.Tooltip("group:N", title="group"),
                alt.Tooltip("value:Q", title=value_title, format=".9g"),
            ],
        )
    )
    layers = alt.layer(whisker, box, median, dots)
    return layers.properties(width=_WIDTH, height=alt.Step(44))


def interval_plot(
    intervals: Sequence[Interval], value_title: str, *, reference: float = 0.0
) -> AnyChart:
    """Estimates with their intervals and a line at ``reference`` (no difference).

    For Tukey's simultaneous intervals of each pair.
    """
    base = alt.Chart(_inline([_interval_row(item) for item in intervals])).encode(
        y=alt.Y(
            "label:N",
            sort=[item.label for item in intervals],
            title=None,
        ),
        color=alt.Color(
            "kind:N",
            scale=alt.Scale(domain=list(_KINDS), range=list(_KINDS.values())),
            legend=None,
        ),
        tooltip=[
            alt.Tooltip("label:N", title="comparison"),
            alt.Tooltip("estimate:Q", title="estimate", format=".6g"),
            alt.Tooltip("low:Q", title="lower bound", format=".6g"),
            alt.Tooltip("high:Q", title="upper bound", format=".6g"),
        ],
    )
    scale = alt.Scale(zero=False, nice=True)
    line = base.mark_rule(strokeWidth=2).encode(
        x=alt.X("low:Q", scale=scale, axis=alt.Axis(title=value_title)), x2="high:Q"
    )
    point = base.mark_point(filled=True, size=70, opacity=1).encode(
        x=alt.X("estimate:Q", scale=scale, axis=alt.Axis(title=value_title)),
        shape=alt.Shape(
            "shape:N",
            scale=alt.Scale(domain=["single", "overall"], range=["circle", "diamond"]),
            legend=None,
        ),
    )
    bounded = any(isfinite(item.low) or isfinite(item.high) for item in intervals)
    layers = [line, point] if bounded else [point]
    if any(item.mark is not None for item in intervals):
        square = base.mark_point(shape="square", size=34, filled=True, opacity=0.75).encode(
            x=alt.X("mark:Q", scale=scale), color=alt.value(INK)
        )
        layers.insert(0, square)
    zero = (
        alt.Chart(_inline([{"reference": reference}]))
        .mark_rule(color=INK, strokeDash=[4, 4])
        .encode(x="reference:Q")
    )
    return alt.layer(zero, *layers).properties(width=_WIDTH, height=alt.Step(26))


def _interval_row(item: Interval) -> dict[str, Any]:
    return {
        "label": item.label,
        "estimate": item.estimate if isfinite(item.estimate) else None,
        "low": item.low if isfinite(item.low) else None,
        "high": item.high if isfinite(item.high) else None,
        "kind": item.kind,
        "shape": "overall" if item.overall else "single",
        "mark": item.mark,
    }


def forest_plot(
    intervals: Sequence[Interval], value_title: str, *, reference: float = 0.0
) -> AnyChart:
    """Effects across benchmarks with their intervals; the overall effect as a diamond."""
    return interval_plot(intervals, value_title, reference=reference)


def run_order_plot(
    samples: Mapping[str, Sequence[tuple[float, float]]], value_title: str, order_title: str
) -> AnyChart:
    """Values over the order of the runs, one colour a group: drift and blocks become visible.

    samples: for each group its (position in the run order, value) pairs.
    """
    rows = [
        {"group": name, "order": float(position), "value": float(value)}
        for name, pairs in samples.items()
        for position, value in _thinned_pairs(pairs)
    ]
    base = alt.Chart(_inline(rows)).encode(
        x=alt.X("order:Q", axis=alt.Axis(title=order_title), scale=alt.Scale(nice=False)),
        y=alt.Y("value:Q", axis=alt.Axis(title=value_title), scale=alt.Scale(zero=False)),
        color=_group_colour(list(samples)),
        tooltip=[
            alt.Tooltip("group:N", title="group"),
            alt.Tooltip("order:Q", title=order_title),
            alt.Tooltip("value:Q", title=value_title, format=".9g"),
        ],
    )
    layers = alt.layer(base.mark_line(opacity=0.35), base.mark_circle(size=34, opacity=0.9))
    return layers.properties(width=_WIDTH, height=220)


def curve_plot(
    curves: Mapping[str, Sequence[CurvePoint]],
    others: Mapping[str, float],
    order_title: str,
    value_title: str,
    *,
    reference: float = 1.0,
) -> AnyChart:
    """Estimates with their intervals over a number, one colour a curve; a line at `reference`.

    others: a level for some of the curves, by their names, drawn as a dashed line.
    The axis of the numbers is logarithmic where they span more than one order of magnitude.
    """
    numbers = [point.at for points in curves.values() for point in points]
    first, last = min(numbers), max(numbers)
    rows = [
        {
            "group": name,
            "at": point.at,
            "estimate": point.estimate,
            "low": point.low if isfinite(point.low) else None,
            "high": point.high if isfinite(point.high) else None,
        }
        for name, points in curves.items()
        for point in points
    ]
    kind: Literal["log", "linear"] = "log" if last > 10 * first else "linear"
    x = alt.X(
        "at:Q",
        axis=alt.Axis(title=order_title, format="~s"),
        scale=alt.Scale(type=kind, nice=False, padding=16),
    )
    scale = alt.Scale(zero=False, nice=True)
    base = alt.Chart(_inline(rows)).encode(x=x, color=_group_colour(list(curves)))
    value = alt.Y("estimate:Q", axis=alt.Axis(title=value_title), scale=scale)
    ends = base.mark_rule(strokeWidth=2, opacity=0.8).encode(
        y=alt.Y("low:Q", axis=alt.Axis(title=value_title), scale=scale), y2="high:Q"
    )
    points = base.mark_circle(size=60, opacity=1).encode(
        y=value,
        tooltip=[
            alt.Tooltip("group:N", title="curve"),
            alt.Tooltip("at:Q", title=order_title),
            alt.Tooltip("estimate:Q", title="estimate", format=".6g"),
            alt.Tooltip("low:Q", title="lower bound", format=".6g"),
            alt.Tooltip("high:Q", title="upper bound", format=".6g"),
        ],
    )
    levels = (
        alt.Chart(_inline([{"group": name, "level": level} for name, level in others.items()]))
        .mark_rule(strokeDash=[6, 3], strokeWidth=1.5)
        .encode(y=alt.Y("level:Q", scale=scale), color=_group_colour(list(curves)))
    )
    line = (
        alt.Chart(_inline([{"reference": reference}]))
        .mark_rule(color=INK, opacity=0.5)
        .encode(y=alt.Y("reference:Q", scale=scale))
    )
    layers = [line, levels, ends, base.mark_line(opacity=0.5).encode(y=value), points]
    return alt.layer(*layers).properties(width=_WIDTH, height=260)


def layout_plot(values: Mapping[str, Sequence[float]], value_title: str) -> AnyChart:
    """The distribution over layouts of each variant: a tick a layout and a smoothed density.

    Densities are Gaussian kernels with Scott's bandwidth (1992), each scaled to the same height;
    a variant with fewer than five layouts, or with equal values, has ticks only.
    """
    names = list(values)
    curves = [row for name in names for row in _density(name, values[name])]
    ticks = [
        {"group": name, "value": float(value), "index": index, "density": 0.0}
        for name in names
        for index, value in enumerate(_thinned(values[name]))
    ]
    rows = [{**row, "tick": False} for row in curves] + [{**row, "tick": True} for row in ticks]
    base = alt.Chart().encode(
        x=alt.X("value:Q", axis=alt.Axis(title=value_title), scale=alt.Scale(zero=False)),
        color=_group_colour(names, legend=False),
    )
    area = (
        base.transform_filter("!datum.tick")
        .mark_area(opacity=0.35, line=True)
        .encode(y=alt.Y("density:Q", axis=None, scale=alt.Scale(domain=[-0.25, 1.05])))
    )
    rug = (
        base.transform_filter("datum.tick")
        .mark_point(shape="stroke", angle=90, size=160, strokeWidth=2, opacity=0.9)
        .encode(
            y=alt.Y("density:Q", axis=None, scale=alt.Scale(domain=[-0.25, 1.05])),
            tooltip=[
                alt.Tooltip("group:N", title="variant"),
                alt.Tooltip("index:Q", title="layout"),
                alt.Tooltip("value:Q", title=value_title, format=".9g"),
            ],
        )
    )
    layers = alt.layer(area, rug, data=_inline(rows)).properties(width=_WIDTH - 120, height=70)
    header = alt.Header(title=None, labelAngle=0, labelAlign="left", labelLimit=220, labelColor=INK)
    return layers.facet(row=alt.Row("group:N", sort=names, header=header), spacing=4)


def _inline(rows: list[dict[str, Any]]) -> alt.Data:
    return alt.Data(values=rows)  # type: ignore[no-untyped-call]


def _group_colour(names: list[str], *, legend: bool = True) -> alt.Color:
    colours = [PALETTE[index % len(PALETTE)] for index in range(len(names))]
    return alt.Color(
        "group:N",
        scale=alt.Scale(domain=names, range=colours),
        legend=alt.Legend(title=None, orient="bottom", labelLimit=300, columns=3, symbolLimit=200)
        if legend
        else None,
    )


def _box(name: str, values: np.ndarray[Any, np.dtype[np.float64]]) -> dict[str, Any]:
    q1, median, q3 = (float(q) for q in np.percentile(values, [25, 50, 75]))
    reach = 1.5 * (q3 - q1)
    inside = values[(values >= q1 - reach) & (values <= q3 + reach)]
    return {
        "group": name,
        "q1": q1,
        "median": median,
        "q3": q3,
        "low": float(inside.min()),
        "high": float(inside.max()),
    }


def _jitter(index: int) -> float:
    """Van der Corput's sequence in base 2, from -0.6 to 0.6: spread out, the same every time."""
    bits = f"{index + 1:b}"
    return reduce(lambda total, bit: (total + int(bit)) / 2, bits, 0.0) * 1.2 - 0.6


def _thinned(values: Sequence[float]) -> list[float]:
    kept = np.linspace(0, len(values) - 1, min(len(values), MAX_POINTS)).astype(int)
    return [float(values[index]) for index in kept]


def _thinned_pairs(pairs: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    kept = np.linspace(0, len(pairs) - 1, min(len(pairs), MAX_POINTS)).astype(int)
    return [pairs[index] for index in kept]


def _density(name: str, values: Sequence[float]) -> list[dict[str, Any]]:
    sample = np.asarray(_thinned(values), dtype=float)
    spread = float(np.ptp(sample))
    if len(sample) < 5 or spread <= 1e-12 * float(np.max(np.abs(sample))):
        return []
    grid = np.linspace(sample.min() - 0.3 * spread, sample.max() + 0.3 * spread, 80)
    density = scipy.stats.gaussian_kde(sample)(grid)
    peak = float(density.max())
    return [
        {"group": name, "value": float(x), "density": float(y) / peak}
        for x, y in zip(grid, density, strict=True)
    ]
