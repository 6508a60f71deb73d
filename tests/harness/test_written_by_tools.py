# SPDX-License-Identifier: GPL-2.0-or-later
"""Files that kcbench, mmtests, lkp-tests and the Phoronix Test Suite wrote themselves."""

from pathlib import Path
from statistics import fmean

import pytest
from harness_files import read, values

from kernsmith.errors import UserError
from kernsmith.harness import Asked, read_harness

VANILLA = [4.55, 4.14, 4.79, 4.77, 4.79, 4.66]
PATCHED = [5.94, 6.0, 5.73, 6.95, 8.01, 8.1]
"""Seconds of twelve builds, as time(1) printed them."""


def test_kcbench_in_both_of_its_forms() -> None:
    assert values(read("kcbench-0.9.4.txt")) == {
        "kcbench jobs=1": {"kcbench-0.9.4.txt": [11.65, 10.83]},
        "kcbench jobs=2": {"kcbench-0.9.4.txt": [5.66, 5.72]},
    }
    found = read("kcbench-0.4.1.txt", asked=Asked(value="user_seconds"))
    assert values(found) == {"kcbench jobs=1": {"kcbench-0.4.1.txt": [2.34, 2.39, 2.70]}}


def test_lkp_compares_what_unite_to_wrote() -> None:
    found = read("lkp-vanilla.json", "lkp-patched.json", asked=Asked(value="time.elapsed_time"))
    assert values(found) == {None: {"lkp-vanilla.json": VANILLA, "lkp-patched.json": PATCHED}}


def test_mmtests_extracts_all_iterations() -> None:
    assert values(read("mmtests-extracted.json"))["kernbench Elapsed-2"] == {"7.3-vanilla": VANILLA}


def test_mmtests_comparison_is_packed_by_zstd() -> None:
    assert values(read("mmtests-compared.json.zst"))["kernbench Elapsed-2"] == {
        "7.3-vanilla": VANILLA,
        "7.3-patched": PATCHED,
    }


def test_a_damaged_zstd_file_is_told(tmp_path: Path) -> None:
    file = tmp_path / "cut.json.zst"
    file.write_bytes(b"\x28\xb5\x2f\xfd cut")
    with pytest.raises(UserError, match="cannot be unpacked"):
        read_harness([file], Asked())


def test_mmtests_table_has_the_means_of_the_same_builds() -> None:
    elapsed = values(read("mmtests-compared.txt"))["Elapsed-2"]
    assert elapsed["7.3-vanilla"] == [pytest.approx(fmean(VANILLA), abs=0.005)]
    assert elapsed["7.3-patched"] == [pytest.approx(fmean(PATCHED), abs=0.005)]


def test_phoronix_has_every_run_of_both_systems() -> None:
    found = read("phoronix-hash.xml")
    assert found.better == "lower"
    sums = values(found)["Hash: Program: md5sum"]
    assert (len(sums["first"]), len(sums["second"])) == (16, 19)
    assert fmean(sums["first"]) == pytest.approx(0.469334, abs=1e-6)
    assert fmean(sums["second"]) == pytest.approx(0.470407, abs=1e-6)
