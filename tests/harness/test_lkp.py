# SPDX-License-Identifier: GPL-2.0-or-later
"""lkp-tests' matrix.json."""

import json
from pathlib import Path

import pytest
from harness_files import read, values

from kernsmith.errors import UserError
from kernsmith.harness import Asked, read_harness

OPS = "will-it-scale.per_process_ops"


def test_two_matrices_are_compared_by_a_statistic() -> None:
    found = read("lkp-old.json", "lkp-new.json", asked=Asked(value=OPS))
    assert found.by == ("file",)
    assert found.better is None, "lkp does not say which direction is good"
    assert values(found) == {
        None: {
            "lkp-old.json": [104210, 104630, 103980, 104411],
            "lkp-new.json": [106010, 106222, 105871, 106333],
        }
    }


def test_one_statistic_has_to_be_named() -> None:
    with pytest.raises(UserError, match=rf"has 4 metrics; name one with --value: '{OPS}', "):
        read("lkp-old.json")


def test_runs_that_lack_a_statistic_are_told() -> None:
    found = read("lkp-new.json", asked=Asked(value="will-it-scale.workload"))
    assert found.reading.notes[1] == "statistics that some of the 4 runs lack: 1"


def test_the_matrix_of_a_single_run_has_samples_and_says_so(tmp_path: Path) -> None:
    file = tmp_path / "matrix.json"
    file.write_text(json.dumps({"vmstat.cpu.sy": [1, None, 3]}))
    found = read_harness([file], Asked())
    assert found is not None
    assert "it is of one run, and its values are samples" in found.reading.notes[1]
    assert values(found) == {None: {"matrix.json": [1, 3]}}
