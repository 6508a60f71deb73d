# SPDX-License-Identifier: GPL-2.0-or-later
"""pyperf's JSON: a process is one value."""

import json
from pathlib import Path

import pytest
from harness_files import FOLDER, read, values
from pyperf import Benchmark

from kernsmith.harness import Asked, read_harness


def test_processes_are_the_values() -> None:
    found = read("pyperf-old.json", "pyperf-new.json")
    assert (found.value, found.better, found.by) == ("seconds", "lower", ("file",))
    (groups,) = values(found).values()
    written = json.loads((FOLDER / "pyperf-old.json").read_text())
    runs = [run["values"] for run in written["benchmarks"][0]["runs"]]
    assert groups["pyperf-old.json"] == pytest.approx([sum(run) / len(run) for run in runs])
    assert "a value is the mean of one process" in found.reading.notes[1]


def test_the_mean_of_equal_processes_is_pyperfs() -> None:
    """Each has three values, so the mean of means is the mean that pyperf tells."""
    (groups,) = values(read("pyperf-old.json")).values()
    mean = Benchmark.load(str(FOLDER / "pyperf-old.json")).mean()
    assert sum(groups["pyperf-old.json"]) / 4 == pytest.approx(mean)


def test_a_single_process_has_its_own_values_and_says_so(tmp_path: Path) -> None:
    written = json.loads((FOLDER / "pyperf-old.json").read_text())
    written["benchmarks"][0]["runs"] = written["benchmarks"][0]["runs"][:1]
    file = tmp_path / "one.json"
    file.write_text(json.dumps(written))
    found = read_harness([file], Asked())
    assert found is not None
    assert len(values(found)["sum"]["one.json"]) == 3
    assert "what another process would give is not known" in found.reading.notes[1]


def test_metadata_is_a_label() -> None:
    found = read("pyperf-old.json", asked=Asked(by=("python_version",)))
    assert len(values(found)["sum"]) == 1
