# SPDX-License-Identifier: GPL-2.0-or-later
"""Charts of `report.charts` as what is read and looked at: Vega-Lite specifications, SVG, PNG."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import vl_convert

from kernsmith.files import write_bytes, write_text
from kernsmith.report.charts import INK, PALETTE, AnyChart

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f]")
_NO_CHARACTER = re.compile("[\ud800-\udfff\ufffe\uffff]")


def chart_spec(chart: AnyChart, *, ink: str = INK, background: str | None = None) -> str:
    """The chart's Vega-Lite specification as JSON, with text and lines drawn in ``ink``."""
    spec: dict[str, Any] = _drawable(chart.to_dict())
    spec["config"] = _config(ink)
    spec["background"] = background
    text = json.dumps(spec, ensure_ascii=False, allow_nan=False)
    return text if ink == INK else text.replace(json.dumps(INK), json.dumps(ink))


def spec_svg(spec: str) -> str:
    """A specification as an SVG element for a page: transparent, text in the page's colour."""
    return str(vl_convert.vegalite_to_svg(spec))


def save_chart(chart: AnyChart, path: Path) -> None:
    """Writes the chart, black on white, as SVG or PNG (twice the size), by the file's suffix.

    Raises:
        ValueError: another suffix.
        DiskFull, UserError, OSError: the file cannot be written; what was there stays.
    """
    spec = chart_spec(chart, ink="#1b1f24", background="#ffffff")
    match path.suffix.lower():
        case ".svg":
            write_text(path, spec_svg(spec))
        case ".png":
            write_bytes(path, bytes(vl_convert.vegalite_to_png(spec, scale=2)))
        case other:
            raise ValueError(f"charts are written as .svg or .png, not as {other!r}")


def _drawable(node: Any) -> Any:
    """With Unicode's pictures (U+2400 …) of the control characters in all text.

    XML cannot hold them (XML 1.0, section 2.2), and vl_convert aborts the whole process on SVG that
    is no XML. Each has a picture of its own, so that different names stay different.
    """
    match node:
        case str():
            seen = _CONTROL.sub(lambda found: chr(0x2400 + ord(found[0])), node)
            return _NO_CHARACTER.sub("\ufffd", seen)
        case dict():
            return {_drawable(key): _drawable(value) for key, value in node.items()}
        case list():
            return [_drawable(each) for each in node]
    return node


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
