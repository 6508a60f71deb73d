# SPDX-License-Identifier: GPL-2.0-or-later
"""Result files of the Phoronix Test Suite."""

import re
from pathlib import Path

from harness_files import FOLDER, read, values

from kernsmith.harness import Asked, read_harness

LOWER, HIGHER = "Seconds, lower is better", "Seconds, higher is better"


def test_systems_are_compared_within_each_test() -> None:
    found = read("composite.xml")
    assert (found.value, found.better, found.by) == (LOWER, "lower", ("system",))
    assert values(found) == {
        "Timed Linux Kernel Compilation: Build: defconfig": {
            "linux-7.2": [84.30, 84.02, 84.04],
            "linux-7.3": [82.60, 82.41, 82.52],
        },
        "Hackbench: Count: 8 - Type: Process": {
            "linux-7.2": [12.10, 12.13, 12.10],
            "linux-7.3": [12.30, 12.38, 12.34],
        },
    }


def test_results_of_another_direction_are_another_metric() -> None:
    found = read("composite.xml", asked=Asked(value=HIGHER))
    assert found.better == "higher"
    assert values(found) == {"Pipe Throughput": {"linux-7.2": [3.5]}}


def test_what_is_left_out_is_said() -> None:
    assert read("composite.xml").reading.notes == (
        "read as Phoronix Test Suite",
        "Pipe Throughput has no value of 'linux-7.3': it was left out",
        "results that are no numbers of runs, left out: 1",
        f"the file also has {HIGHER!r}; --value chooses",
    )


def test_results_of_other_versions_or_arguments_are_never_mixed(tmp_path: Path) -> None:
    text = (FOLDER / "composite.xml").read_text()
    results = re.findall(r"<Result>.*?</Result>", text, re.DOTALL)
    again = results[0].replace(">6.8<", ">6.9<").replace("84.", "90.")
    file = tmp_path / "x.xml"
    file.write_text(text.replace(results[0], results[0] + again))
    found = read_harness([file], Asked())
    assert found is not None
    name = "Timed Linux Kernel Compilation: Build: defconfig version="
    assert values(found)[name + "6.8"]["linux-7.2"] == [84.30, 84.02, 84.04]
    assert values(found)[name + "6.9"]["linux-7.2"] == [90.30, 90.02, 90.04]


def test_a_result_without_a_proportion_has_no_direction(tmp_path: Path) -> None:
    text = (FOLDER / "phoronix-hash.xml").read_text()
    file = tmp_path / "x.xml"
    file.write_text(text.replace("<Proportion>LIB<", "<Proportion><"))
    found = read_harness([file], Asked())
    assert found is not None and found.better is None
