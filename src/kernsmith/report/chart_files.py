# SPDX-License-Identifier: GPL-2.0-or-later
"""Charts of `report.charts` as what is read and looked at: Vega-Lite specifications, SVG, PNG."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import vl_convert

from kernsmith.report.charts import INK, PALETTE, AnyChart


def chart_spec(chart: AnyChart, *, ink: str = INK, background: str | None = None) -> str:
    """The chart's Vega-Lite specification as JSON, with text and lines drawn in ``ink``."""
    spec: dict[str, Any] = chart.to_dict()
    spec["config"] = _config(ink)
    spec["background"] = background
    text = json.dumps(spec, ensure_ascii=False, allow_nan=False)
    return text if ink == INK else text.replace(json.dumps(INK), json.dumps(ink))


def chart_svg(chart: AnyChart) -> str:
    """The chart as an SVG element for a page: transparent, text in the page's colour."""
    return str(vl_convert.vegalite_to_svg(chart_spec(chart)))


def save_chart(chart: AnyChart, path: Path) -> None:
    """Writes the chart, black on white, as SVG or PNG (twice the size), by the file's suffix.

    Raises:
        ValueError: another suffix.
        OSError: the file cannot be written.
    """
    spec = chart_spec(chart, ink="#1b1f24", background="#ffffff")
    match path.suffix.lower():
        case ".svg":
            path.write_text(str(vl_convert.vegalite_to_svg(spec)), encoding="utf-8")
        case ".png":
            path.write_bytes(bytes(vl_convert.vegalite_to_png(spec, scale=2)))
        case other:
            raise ValueError(f"charts are written as .svg or .png, not as {other!r}")


def _config(ink: str) -> dict[str, Any]:
    faint = {"gridColor": ink, "gridOpacity": 0.12, "domainColor": ink, "tickColor": ink}
    text = {"labelColor": ink, "titleColor": ink, "labelFontSize": 12, "titleFontSize": 12}
    return {
        "font": "system-ui, sans-serif",
        "axis": {**faint, **text, "titleFontWeight": "normal", "domainOpacity": 0.4},
        "axisY": {"labelLimit": 320},
        "legend": text,
        "header": text,
        "title": {"color": ink},
        "view": {"stroke": None},
        "range": {"category": list(PALETTE)},
    }
