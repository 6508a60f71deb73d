# SPDX-License-Identifier: GPL-2.0-or-later
"""UnixBench's index: throughput over that of a machine of 1995, which has 10."""

import json
import subprocess
import sys
from dataclasses import replace

import pytest

from kernsmith.errors import UserError
from kernsmith.guest.index import indexed, overall
from kernsmith.guest.workloads import Baseline, Workload
from kernsmith.kernel.artifact import Kernel

WORK = Workload("copy", (), "", 10, 1, (), operations=16, unit="KiB", baseline=Baseline(3960.0))

# A published result of UnixBench 5.1.3 (Alibaba Cloud, "UnixBench Score: An Introduction", 2019):
# what each test did in a second, its baseline, its index.
PUBLISHED = [
    (30971628.9, 116700.0, 2654.0),
    (3928.1, 55.0, 714.2),
    (3117.6, 43.0, 725.0),
    (645027.2, 3960.0, 1628.9),
    (229505.4, 1655.0, 1386.7),
    (1288742.6, 5800.0, 2222.0),
    (1635960.9, 12440.0, 1315.1),
    (337333.8, 4000.0, 843.3),
    (8238.2, 126.0, 653.8),
]


@pytest.mark.parametrize(("rate", "baseline", "index"), PUBLISHED)
def test_an_index_is_as_published(rate: float, baseline: float, index: float) -> None:
    work = replace(WORK, rounds=1, operations=1, baseline=Baseline(baseline))
    assert indexed(work, 1 / rate).index == pytest.approx(index, abs=0.05)


def test_throughput_is_of_all_operations_of_all_rounds() -> None:
    test = indexed(WORK, 0.5)
    assert (test.rate, test.per, test.unit) == (10 * 16 / 0.5, 1.0, "KiB")


def test_shell_scripts_are_counted_by_the_minute() -> None:
    scripts = replace(WORK, operations=1, baseline=Baseline(42.4, 60.0))
    test = indexed(scripts, 10 / 42.4 * 60)
    assert test.rate == pytest.approx(42.4)
    assert test.index == pytest.approx(10)


def test_the_index_of_all_is_their_geometric_mean() -> None:
    tests = [indexed(replace(WORK, baseline=Baseline(count)), 1.0) for count in (160.0, 40.0)]
    assert [test.index for test in tests] == [10.0, 40.0]
    assert overall(tests) == pytest.approx(20.0)


def test_what_belongs_to_no_index_is_told() -> None:
    with pytest.raises(UserError, match="copy belongs to no index"):
        indexed(replace(WORK, baseline=None), 1.0)
    with pytest.raises(UserError, match="copy took 0 s"):
        indexed(WORK, 0.0)


def call(*words: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "kernsmith", "workload", "index", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_command_refuses_what_has_no_baseline_before_anything_runs() -> None:
    done = call("unixbench", "pipe", "--kernel", "none")
    assert done.returncode == 2
    assert "pipe belongs to no index" in done.stderr


@pytest.mark.kernel
def test_the_command_tells_an_index_of_virtual_time(micro_kernel: Kernel) -> None:
    words = ("unixbench-syscall", "--kernel", str(micro_kernel.vmlinux))
    done = call(*words, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    (test,) = document["tests"]
    assert document["meaning"] == "virtual"
    assert (test["unit"], test["per"], test["baseline"]) == ("loop", 1.0, 15000.0)
    assert document["index"] == pytest.approx(10 * test["rate"] / 15000.0)
    assert test["rate"] < 500e6 / 5, "five system calls of one instruction each"
