# SPDX-License-Identifier: GPL-2.0-or-later
"""Charts as objects and as files."""

import json
from math import nan
from pathlib import Path

import pytest

from kernsmith.report.chart_files import chart_spec, save_chart, spec_svg
from kernsmith.report.charts import (
    MAX_POINTS,
    AnyChart,
    Interval,
    box_plot,
    forest_plot,
    interval_plot,
    layout_plot,
    run_order_plot,
)

SAMPLES = {"plain": [1.0, 2.0, 3.0, 4.0, 50.0], "odd.name[0] 'x' <b>": [2.0] * 6, "one": [1.5]}
INTERVALS = [
    Interval("a", -1.0, -2.0, -0.5, "better"),
    Interval("b", 0.1, nan, nan),
    Interval("all", -0.4, -0.6, -0.2, "better", overall=True),
]
CHARTS = {
    "box": box_plot(SAMPLES, "time (s)"),
    "intervals": interval_plot(INTERVALS, "difference (%)"),
    "forest": forest_plot(INTERVALS, "ratio", reference=1.0),
    "order": run_order_plot({n: list(enumerate(v)) for n, v in SAMPLES.items()}, "time", "run"),
    "layouts": layout_plot(SAMPLES, "model cycles"),
}


@pytest.mark.parametrize("chart", CHARTS.values(), ids=CHARTS.keys())
def test_every_chart_becomes_svg_and_png(chart: AnyChart, tmp_path: Path) -> None:
    save_chart(chart, tmp_path / "chart.svg")
    save_chart(chart, tmp_path / "chart.png")
    assert (tmp_path / "chart.svg").read_text().startswith("<svg")
    assert (tmp_path / "chart.png").read_bytes().startswith(b"\x89PNG")


def test_charts_of_the_page_take_the_pages_colour_and_files_do_not(tmp_path: Path) -> None:
    assert "currentColor" in spec_svg(chart_spec(CHARTS["box"]))
    save_chart(CHARTS["box"], tmp_path / "box.svg")
    assert "currentColor" not in (tmp_path / "box.svg").read_text()


def test_levels_are_data_and_never_field_names() -> None:
    spec = json.loads(chart_spec(CHARTS["box"]))
    text = json.dumps({key: value for key, value in spec.items() if key != "datasets"})
    assert "odd.name" in json.dumps(spec)
    assert '"field": "odd' not in text


def test_whiskers_end_at_values_within_the_fences() -> None:
    rows = json.loads(chart_spec(CHARTS["box"]))["layer"][0]["data"]["values"]
    plain = next(row for row in rows if row["group"] == "plain")
    assert (plain["q1"], plain["median"], plain["q3"]) == (2.0, 3.0, 4.0)
    assert (plain["low"], plain["high"]) == (1.0, 4.0)


def test_large_groups_are_thinned_and_drawn_the_same_every_time() -> None:
    many = {"a": [float(value) for value in range(100_000)]}
    spec = chart_spec(box_plot(many, "time"))
    points = json.loads(spec)["layer"][3]["data"]["values"]
    assert len(points) == MAX_POINTS
    assert spec == chart_spec(box_plot(many, "time"))


def test_other_suffixes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"charts are written as .svg or .png, not as '.gif'"):
        save_chart(CHARTS["box"], tmp_path / "box.gif")


def test_control_characters_in_names_are_drawn_as_their_pictures(tmp_path: Path) -> None:
    """vl_convert ends the whole process on SVG that is no XML."""
    names = ("\033[32mold\033[0m", "new\x01", "\ud800")
    chart = box_plot({name: [1.0, 2.0, 3.0] for name in names}, "time")
    svg = spec_svg(chart_spec(chart))
    assert "\u241b[32mold" in svg
    assert "new\u2401" in svg
    for suffix in (".svg", ".png"):
        save_chart(chart, tmp_path / f"box{suffix}")


def test_a_chart_that_fails_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "box.svg"
    file.write_text("before")
    monkeypatch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(OSError("no")))
    with pytest.raises(OSError, match="no"):
        save_chart(CHARTS["box"], file)
    assert file.read_text() == "before"
    assert list(tmp_path.iterdir()) == [file]
