# SPDX-License-Identifier: GPL-2.0-or-later
"""What becomes a group, a stratum and a metric, whatever harness wrote the files."""

from pathlib import Path

import pytest
from harness_files import FOLDER, read, values

from kernsmith.errors import UserError
from kernsmith.harness import Asked, read_harness

OLD = "BenchmarkA/k=x-8 1 10 ns/op\nBenchmarkA/k=y-8 1 20 ns/op\nBenchmarkA/k=x-8 1 11 ns/op\n"
NEW = OLD.replace("10", "12").replace("20", "22")


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    for name, text in (("old", OLD), ("new", NEW)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "bench.txt").write_text(text)
    return [tmp_path / "old" / "bench.txt", tmp_path / "new" / "bench.txt"]


def test_files_are_compared_benchmark_by_benchmark(files: list[Path]) -> None:
    found = read_harness(files, Asked())
    assert found is not None
    assert values(found) == {
        "A k=x": {"old/bench.txt": [10, 11], "new/bench.txt": [12, 11]},
        "A k=y": {"old/bench.txt": [20], "new/bench.txt": [22]},
    }
    assert not found.reading.order_known, "which file came first is not known"


def test_labels_can_be_compared_and_then_name_no_stratum(files: list[Path]) -> None:
    found = read_harness(files[:1], Asked(by=("k",)))
    assert found is not None
    assert values(found) == {"A": {"x": [10, 11], "y": [20]}}
    positions = {s.name: s.position.tolist() for s in found.reading.strata[0].samples}
    assert positions == {"x": [0, 2], "y": [1]}
    assert found.reading.order_known


def test_two_labels_make_a_factorial_design(files: list[Path]) -> None:
    found = read_harness(files, Asked(by=("file", "k")))
    assert found is not None
    assert list(values(found)["A"]) == [
        "old/bench.txt × x", "old/bench.txt × y", "new/bench.txt × x", "new/bench.txt × y"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (Asked(value="B/op"), "has no metric 'B/op'; it has 'ns/op'"),
        (Asked(by=("host",)), "has no 'host'; it has file, gomaxprocs, k, benchmark"),
        (Asked(by=("k",), within="k"), "'k' cannot be both of --by and --within"),
    ],
)
def test_what_is_not_there_is_told(files: list[Path], asked: Asked, sentence: str) -> None:
    with pytest.raises(UserError) as caught:
        read_harness(files, asked)
    assert sentence in str(caught.value)
    assert str(files[0]) in str(caught.value) or "both" in sentence


def test_files_of_two_harnesses_are_not_compared(files: list[Path]) -> None:
    with pytest.raises(UserError, match="compare files of one harness"):
        read_harness([files[0], FOLDER / "kcbench.txt"], Asked())


def test_a_file_of_no_harness_among_others(files: list[Path], tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("g,v\na,1\n")
    for given in ([files[0], tmp_path / "x.csv"], [tmp_path / "x.csv", files[0]]):
        with pytest.raises(UserError, match=rf"x\.csv is of none .*, and {files[0]} is of Go: "):
            read_harness(given, Asked())
    assert read_harness([tmp_path / "x.csv"], Asked()) is None


def test_a_file_given_twice(files: list[Path]) -> None:
    with pytest.raises(UserError, match=f"{files[1]} is given twice"):
        read_harness([files[0], files[1], files[1]], Asked())


def test_systems_with_names_of_their_own_are_compared_across_files(tmp_path: Path) -> None:
    """Each result file has one system, as a machine that was booted twice writes them."""
    text = (FOLDER / "composite.xml").read_text()
    for name, other in (("linux-7.2", "linux-7.3"), ("linux-7.3", "linux-7.2")):
        entries = text.split("<Entry>")
        kept = [entries[0]]
        for entry in entries[1:]:
            inside, _, behind = entry.partition("</Entry>")
            kept.append(behind if f">{other}<" in inside else f"<Entry>{entry}")
        (tmp_path / f"{name}.xml").write_text("".join(kept))
    found = read_harness([tmp_path / "linux-7.2.xml", tmp_path / "linux-7.3.xml"], Asked())
    assert found is not None
    assert found.by == ("system",)
    assert values(found) == values(read("composite.xml"))


def test_one_system_in_two_files_is_compared_by_file(tmp_path: Path) -> None:
    (tmp_path / "again.xml").write_text((FOLDER / "composite.xml").read_text())
    found = read_harness([FOLDER / "composite.xml", tmp_path / "again.xml"], Asked())
    assert found is not None
    assert found.by == ("file",)
    assert "Hackbench: Count: 8 - Type: Process system=linux-7.2" in values(found)


def test_half_of_a_surrogate_pair_becomes_the_replacement_character(tmp_path: Path) -> None:
    file = tmp_path / "times.json"
    results = ", ".join(
        f'{{"command": "{name}", "mean": 1.5, "times": [1.0, 2.0]}}'
        for name in (r"old\ud800", r"new\ud83d\ude00")
    )
    file.write_text(f'{{"results": [{results}]}}')
    found = read_harness([file], Asked())
    assert found is not None
    assert [each.name for each in found.reading.strata[0].samples] == ["old\ufffd", "new\U0001f600"]


@pytest.mark.parametrize("label", ["file", "benchmark"])
def test_a_label_never_replaces_the_file_or_the_benchmark(tmp_path: Path, label: str) -> None:
    files = [tmp_path / "old.txt", tmp_path / "new.txt"]
    for number, file in enumerate(files, 1):
        file.write_text(f"BenchmarkRead/{label}=big 1 {number} ns/op\n")
    found = read_harness(files, Asked())
    assert found is not None
    assert values(found) == {f"Read {label} (label)=big": {"old.txt": [1], "new.txt": [2]}}
    told = f"the label {label!r} of the file is called '{label} (label)' here"
    assert told in found.reading.notes
