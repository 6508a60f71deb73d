# SPDX-License-Identifier: GPL-2.0-or-later
"""The deterministic machine with real boots: exact to the last digit, honest about bad ones."""

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from cpu_models import PENALTIES
from kernsmith._native import seen_values, trace_costs
from kernsmith.errors import UserError
from kernsmith.guest.workloads import Workload, load_catalogue
from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.symbols import read_system_map
from kernsmith.machine import Job, Outcome, find_machine, run_once
from kernsmith.machine import tcg as tcg_module
from kernsmith.machine.metrics import METRICS
from kernsmith.machine.tcg import Tcg, open_machine
from kernsmith.paths import shipped
from kernsmith.profile.counts import read_body

pytestmark = pytest.mark.kernel


def workload(name: str) -> Workload:
    return load_catalogue().select([name])[0]


def boot(kernel: Kernel, folder: Path, name: str = "pipe", *, profile: bool = False) -> Outcome:
    return run_once(
        open_machine("skylake"), kernel.vmlinux, Job(workload(name), folder, profile=profile)
    )


@pytest.fixture(scope="module")
def first(micro_kernel: Kernel, tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    return boot(micro_kernel, tmp_path_factory.mktemp("first"))


def test_a_workload_runs_and_every_counter_is_there(first: Outcome) -> None:
    assert first.ok, first.reason
    figures = {name: value for name, (value, _) in first.metrics.items()}
    assert figures["kernel_instructions"] > 5_000_000
    assert 0 < figures["l1i_misses"] < figures["l1i_accesses"] < figures["kernel_instructions"]
    assert figures["stlb_misses"] <= figures["itlb_misses"] <= figures["l1i_accesses"]
    assert figures["branch_mispredictions"] < figures["conditional_branches"]
    assert figures["model_cycles"] > 0
    assert figures["virtual_seconds"] > 0
    real = {metric.name for metric in METRICS if metric.meaning == "real"}
    assert not real & set(figures), "times of a virtual clock under the names of real ones"


def test_a_second_run_equals_the_first_in_every_counter(
    micro_kernel: Kernel, first: Outcome, tmp_path: Path
) -> None:
    assert boot(micro_kernel, tmp_path).metrics == first.metrics


def test_a_run_that_nobody_asks_figures_of_says_the_same_and_counts_nothing(
    micro_kernel: Kernel, first: Outcome, tmp_path: Path
) -> None:
    job = Job(workload("pipe"), tmp_path, counted=False)
    outcome = run_once(open_machine("skylake"), micro_kernel.vmlinux, job)
    assert outcome.ok, outcome.reason
    assert outcome.metrics == {} and not (tmp_path / "counters.json").exists()

    def said(console: Path) -> list[str]:
        return console.read_text(errors="replace").splitlines()[1:]  # behind QEMU's command

    assert len(said(first.console)) > 3
    assert said(outcome.console) == said(first.console)


def test_boots_in_one_folder_wait_for_each_other(
    micro_kernel: Kernel, first: Outcome, tmp_path: Path
) -> None:
    """Two commands may want the same trial at the same time, each for a ledger of its own."""
    with ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(lambda _: boot(micro_kernel, tmp_path), range(2)))
    assert [outcome.metrics for outcome in outcomes] == [first.metrics] * 2


def test_recording_the_profile_changes_no_counter(
    micro_kernel: Kernel, first: Outcome, tmp_path: Path
) -> None:
    outcome = boot(micro_kernel, tmp_path, profile=True)
    assert outcome.metrics == first.metrics
    assert outcome.counts is not None
    counts = read_body(outcome.counts.read_text().splitlines(), origin=outcome.counts)
    taken = sum(counts.branches.values())
    assert 0 < taken <= first.metrics["taken_branches"][0]
    assert all(start <= end for start, end in counts.ranges)


def test_arguments_of_functions_are_counted(
    micro_kernel: Kernel, first: Outcome, tmp_path: Path
) -> None:
    functions = {symbol.name: symbol.address for symbol in read_system_map(micro_kernel.system_map)}
    wanted = functions["vfs_write"]
    job = Job(workload("pipe"), tmp_path, profile=True, called=(wanted,))
    outcome = run_once(open_machine("skylake"), micro_kernel.vmlinux, job)
    assert outcome.metrics == first.metrics
    assert outcome.values and outcome.counts
    rows = seen_values(outcome.values.read_text())
    counts = read_body(outcome.counts.read_text().splitlines(), origin=outcome.counts)
    entered = sum(count for (_, to), count in counts.branches.items() if to == wanted)
    assert sum(count for *_, count in rows) == entered > 0
    # vfs_write(file, buffer, bytes, position): of the kernel, of a program, and pages at most.
    assert all(file >> 63 and not buffer >> 63 for buffer, _, file, _ in rows)
    assert max(bytes for _, bytes, _, _ in rows) <= 1 << 16


def test_another_cpu_model_executes_the_same_instructions(
    micro_kernel: Kernel, first: Outcome, tmp_path: Path
) -> None:
    machine = open_machine("cortex-a9")
    other = run_once(machine, micro_kernel.vmlinux, Job(workload("pipe"), tmp_path))
    for name in ("kernel_instructions", "user_instructions", "taken_branches"):
        assert other.metrics[name] == first.metrics[name]
    assert other.metrics["l1i_misses"] != first.metrics["l1i_misses"]


@pytest.mark.parametrize("cpu", [str(PENALTIES), "emeraldrapids"])
def test_a_trace_costs_what_its_boot_has_counted(
    micro_kernel: Kernel, tmp_path: Path, cpu: str
) -> None:
    machine = open_machine(cpu)
    job = Job(workload("pipe"), tmp_path, trace="pipe")
    booted = run_once(machine, micro_kernel.vmlinux, job)
    assert booted.trace is not None
    ((_, in_kernel),) = trace_costs(booted.trace, [machine.cpu])
    both = in_kernel.keys() & booted.metrics.keys()
    assert {"model_cycles", "l1i_misses", "branch_mispredictions", "itlb_misses"} <= both
    counted = {name: booted.metrics[name][0] for name in both}
    assert {name: round(in_kernel[name], 3) for name in both} == counted


def test_a_kernel_panic_is_a_failed_run_with_its_console(
    micro_kernel: Kernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An /init that is no program: the kernel itself panics."""
    broken = tmp_path / "init"
    broken.write_text("this is not a program")
    monkeypatch.setattr(tcg_module, "guest_program", lambda: broken)
    outcome = boot_with(open_machine("skylake"), micro_kernel, tmp_path / "boot")
    assert outcome.status == "panic"
    assert "kernel panic" in outcome.reason
    assert "Kernel panic - not syncing" in outcome.console.read_text()
    assert not outcome.metrics


def boot_with(machine: Tcg, kernel: Kernel, folder: Path) -> Outcome:
    some = Workload("pipe", ("lab",), "", 1, 1, ())
    return run_once(machine, kernel.vmlinux, Job(some, folder))


def test_a_hang_is_told_after_the_time_limit(micro_kernel: Kernel, tmp_path: Path) -> None:
    machine = replace(open_machine("skylake"), boot_seconds=0.3)
    outcome = boot_with(machine, micro_kernel, tmp_path)
    assert outcome.status == "hang"
    assert "0.3 s" in outcome.reason
    assert not outcome.lost


def test_how_the_emulator_died_is_told(micro_kernel: Kernel, tmp_path: Path) -> None:
    long = Workload("pipe", ("lab",), "", 10_000_000, 1, ())
    job = Job(long, tmp_path)
    with ThreadPoolExecutor() as pool:
        run = pool.submit(run_once, open_machine("skylake"), micro_kernel.vmlinux, job)
        console = tmp_path / "console.log"
        while not (console.exists() and "begin pipe" in console.read_text()):
            assert not run.done()
            time.sleep(0.02)
        own = f"out={tmp_path}/".encode()
        (emulator,) = (each for each in Path("/proc").glob("[0-9]*") if own in _words(each))
        os.kill(int(emulator.name), signal.SIGKILL)
    ended = run.result()
    assert ended.reason == "the workload did not end: qemu-system-x86_64 was killed by signal 9"
    assert ended.lost, "it would be told of the kernel"


def _words(process: Path) -> bytes:
    with suppress(OSError):
        return (process / "cmdline").read_bytes()
    return b""


def test_an_image_that_is_no_kernel_fails(tmp_path: Path) -> None:
    image = tmp_path / "vmlinux"
    image.write_bytes(b"\x7fELF nonsense")
    some = Workload("pipe", ("lab",), "", 1, 1, ())
    outcome = run_once(open_machine("skylake"), image, Job(some, tmp_path / "boot"))
    assert outcome.status == "failed"
    assert outcome.reason


@pytest.mark.parametrize(
    ("machine", "cpu", "told"),
    [("tgc", "skylake", "allowed are .*tcg"), ("tcg", "skylark", "allowed are .*skylake")],
)
def test_unknown_machines_and_cpu_models_are_told(machine: str, cpu: str, told: str) -> None:
    with pytest.raises(UserError, match=told):
        find_machine(machine, cpu)


def test_a_cpu_model_of_one_page_size_is_told_what_replaced_it(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    model = shipped("cpus", "skylake.toml").read_text()
    path.write_text(model.replace("[l1i]", "page_bytes = 4096\n\n[l1i]", 1))
    with pytest.raises(UserError, match=r"mine\.toml: page_bytes: was replaced: .*small and large"):
        find_machine("tcg", str(path))
    array = "small = { entries = 128, ways = 8 }"
    assert array in model
    path.write_text(model.replace(array, "entries = 128\nways = 8", 1))
    with pytest.raises(UserError, match=r"mine\.toml: itlb\.entries: was replaced: say shared"):
        find_machine("tcg", str(path))


def test_a_corrupt_cpu_model_is_told_with_its_key(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("name = 'mine'\n[l1i]\nsize_bytes = 'big'\n")
    with pytest.raises(UserError, match=r"mine\.toml"):
        open_machine(str(path))
