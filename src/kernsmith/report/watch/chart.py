# SPDX-License-Identifier: GPL-2.0-or-later
"""A history as a chart: each revision with its interval, and where it has changed."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import altair as alt

from kernsmith.document import HistoryView, RevisionView
from kernsmith.report.charts import INK, AnyChart
from kernsmith.report.watch.words import name_of

_POINT, _BINARY, _WORSE, _BETTER = "#2f81c7", "#8b93a1", "#d24b4b", "#2e9e6b"
_WIDTH, _HEIGHT = 640, 280
_MOST_NAMES = 40


def history_chart(
    history: HistoryView, revisions: tuple[RevisionView, ...], title: str
) -> AnyChart:
    """Change against the oldest revision in per cent, oldest first; the line is the mean of each
    stretch between change points, squares are what one binary of each says."""
    rows = [
        {
            "revision": number,
            "name": name_of(revisions[point.revision]),
            "subject": revisions[point.revision].commit.subject,
            "change": point.change,
            "low": point.ci[0] if point.ci else None,
            "high": point.ci[1] if point.ci else None,
            "binary": point.default_change,
        }
        for number, point in enumerate(history.points)
    ]
    names = [name_of(revisions[point.revision]) for point in history.points]
    x_axis = alt.Axis(title="revision, in their order", grid=False)
    if len(names) <= _MOST_NAMES:
        cases = [f"datum.value == {n} ? {_quoted(name)}" for n, name in enumerate(names)]
        x_axis = alt.Axis(
            title=None,
            values=list(map(float, range(len(names)))),
            labelExpr=" : ".join([*cases, "''"]),
            labelAngle=-45,
            labelLimit=120,
            grid=False,
        )
    x = alt.X("revision:Q", axis=x_axis, scale=alt.Scale(nice=False, padding=16))
    scale = alt.Scale(zero=False, nice=True)
    base = _chart(rows).encode(x=x)
    y = alt.Axis(title=title)
    ends = base.mark_rule(color=_POINT, strokeWidth=2).encode(
        y=alt.Y("low:Q", axis=y, scale=scale), y2="high:Q"
    )
    points = base.mark_circle(color=_POINT, size=60, opacity=1).encode(
        y=alt.Y("change:Q", axis=y, scale=scale),
        tooltip=[
            alt.Tooltip("name:N", title="revision"),
            alt.Tooltip("subject:N", title="subject"),
            alt.Tooltip("change:Q", title="change, %", format="+.3f"),
            alt.Tooltip("low:Q", title="lower bound", format="+.3f"),
            alt.Tooltip("high:Q", title="upper bound", format="+.3f"),
            alt.Tooltip("binary:Q", title="one binary of each", format="+.3f"),
        ],
    )
    squares = base.mark_point(shape="square", color=_BINARY, size=34, opacity=0.8).encode(
        y=alt.Y("binary:Q", axis=y, scale=scale)
    )
    layers = [_stretches(history, scale, y), squares, ends, points]
    if history.change_points:
        layers.append(_change_points(history))
    return alt.layer(*layers).properties(width=_WIDTH, height=_HEIGHT)


def _chart(rows: list[dict[str, Any]]) -> alt.Chart:
    return alt.Chart(alt.Data(values=rows))  # type: ignore[no-untyped-call]


def _quoted(text: str) -> str:
    """A string of Vega's expression language: names of tags are people's own."""
    plain = "".join(c if c.isalnum() or c in " .-_/+~" else "?" for c in text)
    return f"'{plain}'"


def _places(history: HistoryView) -> dict[int, int]:
    return {point.revision: number for number, point in enumerate(history.points)}


def _stretches(history: HistoryView, scale: alt.Scale, axis: alt.Axis) -> AnyChart:
    places = _places(history)
    cuts = [
        0,
        *(places[change_point.revision] for change_point in history.change_points),
        len(history.points),
    ]
    rows = []
    for begin, end in pairwise(cuts):
        stretch = history.points[begin:end]
        mean = sum(point.change for point in stretch) / len(stretch)
        rows.append({"from": begin - 0.4, "to": end - 0.6, "mean": mean})
    line = _chart(rows).mark_rule(color=INK, strokeDash=[5, 3], opacity=0.6)
    drawn: AnyChart = line.encode(x="from:Q", x2="to:Q", y=alt.Y("mean:Q", scale=scale, axis=axis))
    return drawn


def _change_points(history: HistoryView) -> AnyChart:
    places = _places(history)
    rows = [
        {
            "at": places[change_point.revision] - 0.5,
            "kind": "worse" if change_point.worse else "better",
        }
        for change_point in history.change_points
    ]
    colour = alt.Color(
        "kind:N",
        scale=alt.Scale(domain=["worse", "better"], range=[_WORSE, _BETTER]),
        legend=alt.Legend(title=None, orient="bottom"),
    )
    drawn: AnyChart = _chart(rows).mark_rule(strokeWidth=1.5).encode(x="at:Q", color=colour)
    return drawn
