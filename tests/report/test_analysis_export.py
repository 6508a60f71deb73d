# SPDX-License-Identifier: GPL-2.0-or-later
"""The exports: the documented JSON, tidy figures, Go benchmark text."""

import json
from pathlib import Path

import jsonschema
import polars as pl
import pytest

from kernsmith.csvfile import Columns, read_samples
from kernsmith.report.analysis.export import (
    as_csv,
    as_document,
    as_go_benchmark,
    as_json,
    figures,
    schema,
    write_export,
)
from kernsmith.stats.analysis import Analysis, Options, analyse
from kernsmith.stats.samples import Stratum
from seed_data import march_file

DOCS = Path(__file__).parents[2] / "docs"
OPTIONS = Options(("march",), "time(sec)", "hostname", order_known=True)


@pytest.fixture(scope="module")
def strata() -> tuple[Stratum, ...]:
    columns = Columns("time(sec)", ("march",), "hostname", "date")
    return read_samples(march_file(), columns).strata


@pytest.fixture(scope="module")
def analysis(strata: tuple[Stratum, ...]) -> Analysis:
    return analyse(strata, OPTIONS)


def test_the_documented_schema_is_the_programs_own() -> None:
    """docs/analyze.schema.json is written by: python -m kernsmith.report.analysis.export"""
    assert json.loads((DOCS / "analyze.schema.json").read_text()) == schema()


def test_the_document_fits_its_schema(analysis: Analysis) -> None:
    document = json.loads(as_json(analysis))
    jsonschema.validate(document, schema())
    assert (document["format"], document["version"]) == ("kernsmith-analyze", 1)


def test_figures_that_cannot_be_had_are_null(analysis: Analysis) -> None:
    text = as_json(analysis)
    assert "NaN" not in text
    assert "Infinity" not in text
    assert as_document(analysis)["strata"][0]["factorial"] == []


def test_json_figures_are_unrounded(analysis: Analysis) -> None:
    pair = json.loads(as_json(analysis))["strata"][0]["comparisons"][0]
    assert pair["q"] == analysis.strata[0].comparisons[0].q
    assert len(repr(pair["q"])) > 12


def test_csv_and_parquet_hold_the_same_figures(analysis: Analysis, tmp_path: Path) -> None:
    path = tmp_path / "figures.parquet"
    write_export(path, analysis, ())
    frame = pl.read_parquet(path)
    assert frame.columns == ["table", "stratum", "item", "against", "figure", "value"]
    (tmp_path / "figures.csv").write_text(as_csv(analysis))
    again = pl.read_csv(tmp_path / "figures.csv", schema=frame.schema)
    assert again.equals(frame)
    q = frame.filter(
        pl.col("figure") == "q", pl.col("stratum") == "N100", pl.col("item") == "Intel Alder Lake"
    )
    assert q["value"].to_list() == pytest.approx([15.16003525, 9.65244528])
    assert len(frame) == len(list(figures(analysis)))


def test_go_benchmark_text_in_run_order(strata: tuple[Stratum, ...]) -> None:
    lines = as_go_benchmark(strata, ["march"], "time(sec)").splitlines()
    assert len(lines) == 108
    assert lines[0] == "BenchmarkX5950/march=Generic_x86-64-1 1 79747829895.0 ns/op"


def test_other_units_stay_what_they_are(strata: tuple[Stratum, ...]) -> None:
    line = as_go_benchmark(strata, ["march"], "model cycles").splitlines()[0]
    assert line.endswith(" 79.747829895 model_cycles")


def test_unknown_suffixes_are_refused(analysis: Analysis, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"must be .json, .csv, .parquet, .xml or .bench"):
        write_export(tmp_path / "figures.xls", analysis, ())


def test_an_export_that_fails_leaves_what_was_there(
    tmp_path: Path, analysis: Analysis, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "figures.parquet"
    file.write_text("before")

    def half(frame: pl.DataFrame, target: Path) -> None:
        target.write_text("half")
        raise OSError("the rest cannot be written")

    monkeypatch.setattr(pl.DataFrame, "write_parquet", half)
    with pytest.raises(OSError, match="the rest"):
        write_export(file, analysis, ())
    assert file.read_text() == "before"
    assert list(tmp_path.iterdir()) == [file]


def test_names_that_a_benchmark_cannot_tell_apart_have_a_number(tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    file.write_text("g,w,v\na b,x/y,1\na/b,x/y,2\na b,X y,3\n")
    found = read_samples(file, Columns("v", ("g",), "w")).strata
    assert as_go_benchmark(found, ["g"], "v", "higher").splitlines() == [
        "Unit v better=higher",
        "BenchmarkX_y/g=a_b-1 1 1.0 v",
        "BenchmarkX_y/g=a_b_2-1 1 2.0 v",
        "BenchmarkX_y_2/g=a_b-1 1 3.0 v",
    ]
