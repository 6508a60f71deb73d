# SPDX-License-Identifier: GPL-2.0-or-later
"""What kcbench prints."""

from pathlib import Path

from harness_files import read, values

from kernsmith.harness import Asked, read_harness


def test_numbers_of_jobs_are_never_mixed() -> None:
    found = read("kcbench.txt")
    assert (found.value, found.better) == ("seconds", "lower")
    assert values(found) == {
        "kcbench jobs=16": {"kcbench.txt": [161.38, 162.53]},
        "kcbench jobs=19": {"kcbench.txt": [172.87, 164.76]},
    }


def test_jobs_can_be_compared() -> None:
    assert values(read("kcbench.txt", asked=Asked(by=("jobs",)))) == {
        "kcbench": {"16": [161.38, 162.53], "19": [172.87, 164.76]}
    }


def test_the_form_of_before_2019_has_user_and_system_time() -> None:
    found = read("kcbench-0.4.txt", asked=Asked(value="sys_seconds", by=("running",)))
    assert values(found) == {
        "kcbench jobs=8": {
            "4.19.0-0.rc1.git0.1.x86_64 on x86_64 (foo.example.org)": [97.84, 99.76, 96.61]
        }
    }


def test_lines_of_the_file_are_kept() -> None:
    samples = read("kcbench.txt").reading.strata[0].samples
    assert samples[0].row.tolist() == [9, 10]


def test_compiled_kernels_are_never_mixed(tmp_path: Path) -> None:
    file = tmp_path / "x"
    run = "Run 1 (-j 4): {} seconds / 22.31 kernels/hour\n"
    file.write_text(
        f"Linux compiled: 6.1\n{run.format(100)}Linux compiled: 6.12\n{run.format(150)}"
    )
    found = read_harness([file], Asked())
    assert found is not None
    assert values(found) == {
        "kcbench jobs=4 compiled=6.1": {"x": [100]},
        "kcbench jobs=4 compiled=6.12": {"x": [150]},
    }
