# SPDX-License-Identifier: GPL-2.0-or-later
"""Files of counters, and several workloads in one."""

from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest

from kernsmith.errors import UserError
from kernsmith.profile.counters import (
    Counters,
    merge_counters,
    read_counters,
    value_rows,
    write_counters,
)


def counters(*words: int, name: str = "pipe", build_id: str = "ab") -> Counters:
    return Counters(0xFFFFFFFF82000000, np.array(words, dtype=np.uint64), build_id, (name,))


def test_a_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "x.counters"
    written = counters(0, 1, 2**63)
    write_counters(written, path)
    read = read_counters(path)
    assert (read.start, read.build_id, read.workloads) == (written.start, "ab", ("pipe",))
    assert np.array_equal(read.words, written.words)


def test_each_workload_has_the_same_weight() -> None:
    merged = merge_counters([counters(900, 100, 0), counters(1, 8, 1, name="fork")])
    assert merged.words.tolist() == [900 + 100, 100 + 800, 100]
    assert merged.workloads == ("pipe", "fork")
    # What was counted at all stays; what counted nothing at all adds nothing.
    rare = merge_counters([counters(2**40, 1), counters(0, 0), counters(1, 2**50)])
    assert rare.words.min() >= 1
    with pytest.raises(UserError, match="different kernels"):
        merge_counters([counters(1), counters(1, build_id="cd")])


def test_values_are_kept_and_merged_with_the_counters(tmp_path: Path) -> None:
    path = tmp_path / "x.counters"
    one = replace(counters(900, 100), values=value_rows([(8, 0, 64, 10), (8, 1, 64, 5)]))
    write_counters(one, path)
    assert np.array_equal(read_counters(path).values, one.values)
    assert read_counters(path).words.tolist() == [900, 100]
    other = replace(
        counters(90, 10, name="fork"), values=value_rows([(8, 0, 64, 3), (16, 0, 2, 1)])
    )
    merged = merge_counters([one, other])
    assert merged.values.tolist() == [[8, 0, 64, 10 + 30], [8, 1, 64, 5], [16, 0, 2, 10]]


def test_damaged_files_are_read_or_refused_in_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "x.counters"
    write_counters(replace(counters(1, 2, 3), values=value_rows([(8, 0, 64, 10)])), path)
    good = path.read_bytes()
    random = Random(1)
    for number in range(2000):
        bad = bytearray(good)
        for _ in range(random.randrange(1, 4)):
            bad[random.randrange(len(bad))] = random.randrange(256)
        path.write_bytes(bad[: random.randrange(len(bad) + 1)] if number % 2 else bad)
        try:
            assert read_counters(path).words.size
        except UserError as error:
            assert str(path) in str(error) and "\n" not in str(error)
    with pytest.raises(UserError, match="cannot read"):
        read_counters(tmp_path)
