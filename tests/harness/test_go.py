# SPDX-License-Identifier: GPL-2.0-or-later
"""Go benchmark text."""

from pathlib import Path

import pytest
from harness_files import read, values

from kernsmith.harness import Asked, read_harness


def test_two_files_are_compared_benchmark_by_benchmark() -> None:
    found = read("go-old.txt", "go-new.txt")
    assert (found.value, found.better, found.by) == ("ns/op", "lower", ("file",))
    by_name = values(found)
    assert list(by_name) == ["Fib n=10", "Fib n=15", "Repeat"]
    assert by_name["Fib n=10"]["go-new.txt"] == [6.420, 6.425, 6.404, 6.394]


def test_other_units_are_metrics_with_a_direction() -> None:
    found = read("go-new.txt", asked=Asked(value="MB/s"))
    assert found.better == "higher"
    assert values(found) == {"Repeat": {"go-new.txt": [337.20, 5738.24, 5751.13, 5891.78]}}
    assert read("go-new.txt").reading.notes == (
        "read as Go",
        "the file also has 'B/op', 'allocs/op', 'MB/s'; --value chooses",
    )


def test_parts_of_names_are_labels() -> None:
    found = read("go-old.txt", asked=Asked(by=("n",)))
    assert list(values(found)["Fib"]) == ["10", "15"]
    assert found.reading.notes[-1] == "4 values without a level were left out"


def test_lines_of_configuration_and_of_units(tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_text(
        "kernel: 7.2\nUnit points better=higher assume=exact\nBenchmarkX 1 5 points 2 p50-ns\n"
        "kernel: 7.3\nBenchmarkX 1 6 points 3 p50-ns\nBenchmarkX 1 7 points 4 p50-ns\n"
    )
    found = read_harness([file], Asked(by=("kernel",)))
    assert found is not None
    assert (found.value, found.better) == ("points", "higher")
    assert values(found) == {"X": {"7.2": [5], "7.3": [6, 7]}}


def test_numbers_of_processors_are_never_mixed(tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_text("BenchmarkX-1 1 5 ns/op\nBenchmarkX-4 1 6 ns/op\n")
    found = read_harness([file], Asked())
    assert found is not None
    assert list(values(found)) == ["X gomaxprocs=1", "X gomaxprocs=4"]


def test_packages_are_never_mixed(tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_text(
        "pkg: a\nBenchmarkX 1 5 ns/op\nBenchmarkOnly 1 7 ns/op\npkg: b\nBenchmarkX 1 50 ns/op\n"
    )
    found = read_harness([file], Asked())
    assert found is not None
    assert values(found) == {
        "X pkg=a": {"x": [5]},
        "Only pkg=a": {"x": [7]},
        "X pkg=b": {"x": [50]},
    }
    compared = read_harness([file], Asked(by=("pkg",)))
    assert compared is not None
    assert values(compared)["X"] == {"a": [5], "b": [50]}


def test_a_line_that_changes_within_a_group_keeps_its_values_apart(tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_text(
        "kernel: 7.2\ncommit: a\nBenchmarkX 1 5 ns/op\n"
        "kernel: 7.3\ncommit: b\nBenchmarkX 1 6 ns/op\n"
    )
    found = read_harness([file], Asked())
    assert found is not None
    assert values(found) == {"X kernel=7.2": {"x": [5]}, "X kernel=7.3": {"x": [6]}}
    compared = read_harness([file], Asked(by=("kernel",)))
    assert compared is not None
    assert values(compared) == {"X": {"7.2": [5], "7.3": [6]}}, "each kernel has one commit"


def test_a_line_with_the_key_of_a_name_is_another_label(tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_text("n: 5\nBenchmarkX/n=1 1 5 ns/op\nBenchmarkY 1 6 ns/op\n")
    found = read_harness([file], Asked(by=("n (line)",)))
    assert found is not None
    assert values(found) == {"X n=1": {"5": [5]}, "Y": {"5": [6]}}


@pytest.mark.parametrize(
    ("unit", "better"),
    [("req/s", "higher"), ("ns/op", "lower"), ("allocs/op", "lower"), ("hits", None)],
)
def test_what_is_better_is_known_of_rates_and_costs(
    tmp_path: Path, unit: str, better: str | None
) -> None:
    file = tmp_path / "x"
    file.write_text(f"BenchmarkX 1 5 {unit}\n")
    found = read_harness([file], Asked())
    assert found is not None and found.better == better


def test_a_line_about_a_unit_may_stand_behind_its_results(tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_text("BenchmarkX 1 5 points\nUnit points better=higher\n")
    found = read_harness([file], Asked())
    assert found is not None and found.better == "higher"
