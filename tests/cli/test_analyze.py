# SPDX-License-Identifier: GPL-2.0-or-later
"""`kernsmith analyze` as its users call it."""

import json
from pathlib import Path

import pytest
from cyclopts import App

from kernsmith.cli.analyze import analyze
from kernsmith.errors import UserError
from seed_data import march_file

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
HARNESS = Path(__file__).parents[1] / "data" / "harness"
RAW = "the raw timings of seed 000"
MARCH = [RAW, "--value", "time(sec)", "--by", "march"]


def run(*words: str) -> None:
    app = App(name="kernsmith")
    app.command(analyze)
    arguments = [str(march_file()) if word == RAW else word for word in words]
    app(["analyze", *arguments], exit_on_error=False, result_action="return_value")


def test_text(capsys: pytest.CaptureFixture[str]) -> None:
    run(*MARCH, "--within", "hostname", "--order", "date")
    text = capsys.readouterr().out
    for q in ("12.8771", "13.4675", "28.9652", "24.8335", "4.1317", "5.5076", "15.1600", "9.6524"):
        assert q in text
    assert "0.5904" in text
    assert "group and time are confounded" in " ".join(text.split())
    assert "Difference at 95.0% confidence\n" in text


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    run(*MARCH, "--within", "hostname", "--format", "json")
    document = json.loads(capsys.readouterr().out)
    assert [stratum["name"] for stratum in document["strata"]] == ["X5950", "i7-4790K", "N100"]


def test_markdown_escapes_what_is_in_cells(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "x.csv"
    file.write_text("g,v\n<b>|x|</b>,1\n<b>|x|</b>,2\n=1+1,3\n=1+1,4\n")
    run(str(file), "--value", "v", "--by", "g", "--format", "markdown")
    text = capsys.readouterr().out
    assert "| &lt;b&gt;\\|x\\|&lt;/b&gt; | 2 |" in text
    assert "<b>" not in text.replace("```", "").split("As ministat")[0]


def test_csv(capsys: pytest.CaptureFixture[str]) -> None:
    run(*MARCH, "--within", "hostname", "--format", "csv")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "table,stratum,item,against,figure,value"
    assert any(
        line.startswith("comparison,N100,Intel Alder Lake,Generic x86-64,q,15.16") for line in lines
    )


def test_report_plots_and_exports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    suffixes = ("json", "csv", "parquet", "xml", "bench")
    targets = [str(tmp_path / f"out.{suffix}") for suffix in suffixes]
    exports = [word for target in targets for word in ("--export", target)]
    report, plots = tmp_path / "out.html", tmp_path / "plots"
    run(*MARCH, "--within", "hostname", "--report", str(report), "--plots", str(plots), *exports)
    capsys.readouterr()
    assert all(Path(target).stat().st_size > 100 for target in targets)
    assert "15.1600" in report.read_text()
    names = {path.name for path in plots.iterdir()}
    assert {"X5950-box.svg", "X5950-box.png", "N100-intervals.svg", "N100-order.png"} <= names
    assert "forest-Intel_x86-64-v3.svg" in names


@pytest.mark.parametrize("outputs", ["--report in", "--export in", "--export out --report out"])
def test_no_output_is_written_onto_the_measurements_or_another_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, outputs: str
) -> None:
    monkeypatch.chdir(tmp_path)
    text = "g,v\na,1\na,2\nb,3\nb,4\n"
    Path("in.csv").write_text(text)
    words = outputs.replace("in", "in.csv").replace("out", "./out.csv").split()
    with pytest.raises(UserError, match=r"is what is read here|is to be written twice"):
        run("in.csv", "--value", "v", "--by", "g", *words)
    assert Path("in.csv").read_text() == text
    assert not Path("out.csv").exists()


def test_several_factors_in_one_word_or_in_several(capsys: pytest.CaptureFixture[str]) -> None:
    file = str(EXAMPLES / "gcc-clang-isa.csv")
    run("--summary", file, "--by", "isa,compiler")
    first = capsys.readouterr().out
    run("--summary", file, "--by", "isa", "--by", "compiler")
    assert capsys.readouterr().out == first
    assert "isa × compiler interact" in first


def test_a_harness_needs_no_columns(capsys: pytest.CaptureFixture[str]) -> None:
    run(str(HARNESS / "composite.xml"))
    text = capsys.readouterr().out
    assert "read as Phoronix Test Suite" in text
    assert "linux-7.3 is 1.91 % lower than linux-7.2" in text


def test_the_harness_says_what_is_better_unless_the_user_does(
    capsys: pytest.CaptureFixture[str],
) -> None:
    pipe = [str(HARNESS / "composite.xml"), "--value", "Seconds, higher is better"]
    for words, better in ((pipe, "higher"), ([*pipe, "--better", "lower"], "lower")):
        run(*words, "--format", "json")
        assert json.loads(capsys.readouterr().out)["options"]["better"] == better


def test_files_of_a_harness_become_go_benchmark_text_that_is_read_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    both, written = [str(HARNESS / f"go-{age}.txt") for age in ("old", "new")], tmp_path / "x.bench"
    run(*both, "--export", str(written), "--format", "json")
    first = json.loads(capsys.readouterr().out)
    run(str(written), "--by", "file (label)", "--format", "json")
    again = json.loads(capsys.readouterr().out)
    figures = [
        [[group["mean"] for group in stratum["groups"]] for stratum in document["strata"]]
        for document in (first, again)
    ]
    assert figures[0] == figures[1]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([MARCH[0], "--by", "march"], "--value is missing: name a column of"),
        ([MARCH[0], "--value", "time(sec)"], "--by is missing: name a column of"),
        (
            [*MARCH[:3], "--by", "marsh"],
            "has no column 'marsh'; its columns are 'run #', 'hostname'",
        ),
        ([*MARCH, "--alpha", "5"], "--alpha is a probability between 1e-12 and 1, not 5"),
        ([*MARCH, "--effect", "0"], "--effect is a difference in per cent above 0, not 0"),
        ([*MARCH, "--effect", "inf"], "--effect is a difference in per cent above 0, not inf"),
        ([*MARCH, "--baseline", "zen"], "no group is called 'zen'; the groups are 'AMD Zen 3'"),
        (
            [*MARCH, "--export", "/tmp/x.xls"],
            ".csv, .parquet, .xml or .bench",
        ),
        ([*MARCH, "--report", "/nowhere/x.html"], "/nowhere/x.html cannot be written"),
        (["--summary", MARCH[0]], "has no column 'group'"),
        ([], "name a file to analyse"),
        (["a.csv", *MARCH], "there is no file a.csv"),
        ([str(HARNESS / "README.md"), *MARCH], "of CSV files one is analysed at a time"),
        ([str(HARNESS / "kcbench.txt"), "--order", "date"], "--order is for CSV files"),
        ([str(Path(__file__).parents[1] / "data" / "analysis-sentences.json")], "is JSON, but of"),
        (["--summary", *MARCH], "--summary has neither raw values nor an order"),
    ],
)
def test_mistakes_are_told_in_a_sentence(words: list[str], sentence: str) -> None:
    with pytest.raises(UserError) as caught:
        run(*words)
    assert sentence in str(caught.value)
    assert caught.value.exit_code == 2


def test_a_column_whose_name_has_a_comma_is_named_in_quotes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [f'"{size}",{run}.{size}' for size in (1, 2) for run in (4, 5, 6)]
    (tmp_path / "sizes.csv").write_text("\n".join(['"size, kB",seconds', *rows]))
    asked = ["--value", "seconds", "--by", '"size, kB"', "--format", "json"]
    run(str(tmp_path / "sizes.csv"), *asked)
    (stratum,) = json.loads(capsys.readouterr().out)["strata"]
    assert [each["name"] for each in stratum["groups"]] == ["1", "2"]


def test_a_long_name_of_a_column_is_cut(tmp_path: Path) -> None:
    (tmp_path / "odd.csv").write_text("x" * 4000 + "\n1\n")
    with pytest.raises(UserError) as caught:
        run(str(tmp_path / "odd.csv"), "--value", "y", "--by", "z")
    assert "'" + "x" * 60 + "…'" in str(caught.value)
    assert len(str(caught.value)) < 400


def test_a_direction_that_is_taken_for_granted_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "x.txt"
    file.write_text("BenchmarkX 1 5 hits\nBenchmarkX 1 6 hits\n")
    run(str(file))
    assert "lower is taken; --better says otherwise" in " ".join(capsys.readouterr().out.split())
    run(str(file), "--better", "higher")
    assert "--better says otherwise" not in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--by", "the\ngroup"], "has a line end: no column is called so"),
        (["--by", "g", "--alpha", "1e-300"], "--alpha is a probability between 1e-12 and 1"),
    ],
)
def test_what_no_analysis_can_take(tmp_path: Path, words: list[str], sentence: str) -> None:
    file = tmp_path / "x.csv"
    file.write_text("g,v\na,1\na,2\nb,3\nb,4\n")
    with pytest.raises(UserError, match=sentence):
        run(str(file), "--value", "v", *words)
