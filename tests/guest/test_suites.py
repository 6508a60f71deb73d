# SPDX-License-Identifier: GPL-2.0-or-later
"""Suites of the fast guest: what they have, what is said beside their code, exact counters."""

from dataclasses import replace
from pathlib import Path

import pytest

from kernsmith.errors import UserError
from kernsmith.guest import suite as suite_module
from kernsmith.guest.suite import read_suite
from kernsmith.guest.workloads import Baseline, Workload, load_catalogue
from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.config import read_fragment
from kernsmith.machine import Job, Outcome, run_once
from kernsmith.machine.tcg import open_machine

CATALOGUE = load_catalogue()
SIZES = {
    "lmbench": 19,
    "unixbench": 12,
    "unixbench-high": 12,
    "neper": 8,
    "neper-veth": 8,
    "neper-nat": 8,
    "smp": 2,
}
# The rows of an article's table of lmbench (docs/examples/lmbench.csv), in its order.
LMBENCH = (
    "file-read", "mmap-read", "pipe-bandwidth", "tcp-bandwidth", "unix-bandwidth", "tcp-connect",
    "context-switch", "file-create", "mmap", "page-fault", "pipe-latency", "process",
    "rpc-latency", "select", "signal", "syscall", "tcp-latency", "udp-latency", "unix-latency",
)  # fmt: skip


@pytest.mark.parametrize(("name", "size"), SIZES.items())
def test_a_suite_has_its_tests(name: str, size: int) -> None:
    assert len(CATALOGUE.select([name])) == size


def test_lmbench_has_the_19_rows_of_the_table() -> None:
    names = {workload.name for workload in CATALOGUE.select(["lmbench"])}
    assert names == {f"lmbench-{row}" for row in LMBENCH}


@pytest.mark.parametrize("name", ["lmbench", "unixbench", "unixbench-high", "neper", "smp"])
def test_the_micro_kernel_has_what_they_need(name: str) -> None:
    symbols = read_fragment("micro").symbols
    assert not [w.name for w in CATALOGUE.select([name]) if w.missing(symbols)]


def test_the_router_has_what_veth_and_nat_need_and_micro_has_not() -> None:
    for workload in CATALOGUE.select(["neper-veth", "neper-nat"]):
        assert not workload.missing(read_fragment("router").symbols)
        assert "CONFIG_VETH" in workload.missing(read_fragment("micro").symbols)


@pytest.mark.parametrize("name", ["lmbench", "unixbench", "neper"])
def test_what_is_said_beside_the_code_is_of_workloads_that_are_there(name: str) -> None:
    said = read_suite(name).workloads
    assert set(said) == {w.name for w in CATALOGUE if w.name.startswith(f"{name}-")}


def test_the_first_program_s_rounds_are_told_in_numbers() -> None:
    said = read_suite("").workloads
    assert set(said) == {w.name for w in CATALOGUE.select(["lab", "nat"])}
    (packets, calls) = CATALOGUE.select(["nat-udp-64", "null-syscall"])
    assert (calls.operations, calls.unit) == (20, "system call")
    assert (packets.operations, packets.unit) == (8, "packet")


def test_high_load_is_four_copies_of_more() -> None:
    for low in CATALOGUE.select(["unixbench"]):
        (high,) = CATALOGUE.select([f"{low.name}-high"])
        assert high.operations in {4 * turns * low.operations for turns in (1, 2, 8)}
        assert (high.unit, high.baseline) == (low.unit, low.baseline)


def test_a_file_with_a_mistake_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "suite.toml").write_text("[workloads.x]\noperation = 1\n")
    monkeypatch.setattr(suite_module, "shipped", lambda *parts: tmp_path / parts[-1])
    with pytest.raises(UserError, match=r"suite.toml: .*\n.*operation"):
        read_suite("mine")


def test_what_is_not_said_is_one_operation_a_round() -> None:
    assert read_suite("none").workloads == {}
    (shell,) = CATALOGUE.select(["unixbench-shell1"])
    assert shell.baseline == Baseline(42.4, 60.0)
    (bare,) = read_suite("none").described([shell])
    assert (bare.operations, bare.unit, bare.baseline) == (1, "round", None)


def boot(kernel: Kernel, workload: Workload, folder: Path) -> Outcome:
    short = replace(workload, rounds=4, warmup=1)
    return run_once(open_machine("skylake"), kernel.vmlinux, Job(short, folder))


# One of each way to talk, and what needs more in its guest than a program.
@pytest.mark.kernel
@pytest.mark.parametrize(
    "name",
    ["lmbench-rpc-latency", "unixbench-shell1", "unixbench-context-high", "neper-udp-rr-many"],
)
def test_two_boots_give_equal_counters(micro_kernel: Kernel, tmp_path: Path, name: str) -> None:
    (workload,) = CATALOGUE.select([name])
    first, second = (boot(micro_kernel, workload, tmp_path / each) for each in ("one", "other"))
    assert first.ok, first.reason
    assert first.metrics == second.metrics


@pytest.mark.kernel
@pytest.mark.parametrize(
    "name", ["neper-tcp-crr-veth", "neper-tcp-stream-many-veth", "neper-udp-rr-nat"]
)
def test_two_boots_with_veth_or_nat_give_equal_counters(
    nat_kernel: Kernel, tmp_path: Path, name: str
) -> None:
    (workload,) = CATALOGUE.select([name])
    first, second = (boot(nat_kernel, workload, tmp_path / each) for each in ("one", "other"))
    assert first.ok, first.reason
    assert first.metrics == second.metrics
