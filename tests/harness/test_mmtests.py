# SPDX-License-Identifier: GPL-2.0-or-later
"""mmtests: JSON of runs, and the table of means."""

from harness_files import read, values


def test_the_json_of_one_kernel() -> None:
    found = read("mmtests-old.json")
    assert (found.value, found.better, found.by) == ("value", "lower", ("test",))
    assert values(found) == {
        "kernbench user-2": {"6.12-vanilla": [1212.40, 1213.01, 1212.77]},
        "kernbench syst-2": {"6.12-vanilla": [101.1, 101.5, 101.2]},
        "kernbench elsp-2": {"6.12-vanilla": [660.2, 661.0, 660.7]},
    }


def test_the_json_of_a_comparison_has_all_iterations_of_all_kernels() -> None:
    assert values(read("mmtests-both.json")) == {
        "kernbench elsp-2": {
            "6.12-vanilla": [660.2, 661.0, 660.7, 660.1],
            "6.12-patched": [651.3, 652.0, 651.9, 651.1],
        }
    }


def test_the_table_has_means_and_no_tests() -> None:
    found = read("mmtests-table.txt")
    assert values(found) == {
        "user-2": {"6.12-vanilla": [1212.73], "6.12-patched": [1213.20]},
        "syst-2": {"6.12-vanilla": [101.27], "6.12-patched": [98.11]},
        "elsp-2": {"6.12-vanilla": [660.63], "6.12-patched": [657.02]},
    }
    assert "means, not runs" in found.reading.notes[1]
