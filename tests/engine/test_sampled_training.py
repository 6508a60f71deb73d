# SPDX-License-Identifier: GPL-2.0-or-later
"""A kernel is trained by samples of its branches: real boots, as few of the branches as asked."""

import multiprocessing
from itertools import repeat
from pathlib import Path

import pytest

from kernsmith.cli.progress import ProgressDisplay
from kernsmith.engine.evidence import BRANCHES, samples
from kernsmith.engine.traces import trace_tag
from kernsmith.engine.training import TrainingFailed, train
from kernsmith.guest.workloads import Workload, load_catalogue
from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.toolchain import find_toolchain
from kernsmith.machine import Outcome
from kernsmith.machine.tcg import open_machine
from kernsmith.profile import BranchCounts, find_profile_maker
from kernsmith.profile.overlap import overlap

# Nobody else trains on this workload, and these tests do so one after the other.
pytestmark = [pytest.mark.kernel, pytest.mark.xdist_group("sampled")]
(WORKLOAD,) = load_catalogue().select(["context-switch"])


@pytest.fixture(autouse=True, scope="module")
def anew(micro_kernel: Kernel) -> None:
    """What another test run has left of these samples would be read back."""
    for path in (micro_kernel.folder / "profiles").rglob(f"{WORKLOAD.name}-*.every-*"):
        path.unlink()


def sampled(kernel: Kernel, period: int, traces: list[Path], *, wanted: bool) -> BranchCounts:
    def seen(kernel: Kernel, workload: Workload, outcome: Outcome, started_at: str) -> None:
        assert outcome.ok
        if outcome.trace is not None:
            assert outcome.trace.exists()
            traces.append(outcome.trace)

    def trace_of(workload: Workload) -> str:
        return trace_tag(kernel, workload) if wanted else ""

    with ProgressDisplay() as display:
        machine = open_machine("skylake")
        found = train(
            kernel, samples(period), [WORKLOAD], machine, display, seen, trace_of=trace_of
        )
    return found[WORKLOAD.name]


@pytest.fixture(scope="module")
def exact(micro_kernel: Kernel) -> BranchCounts:
    def seen(*run: object) -> None:
        pass

    with ProgressDisplay() as display:
        found = train(micro_kernel, BRANCHES, [WORKLOAD], open_machine("skylake"), display, seen)
    return found[WORKLOAD.name]


def trained(kernel: Kernel) -> tuple[BranchCounts, int]:
    """What a process trains a kernel on, and how many boots it made for it."""
    boots: list[Outcome] = []

    def seen(kernel: Kernel, workload: Workload, outcome: Outcome, started_at: str) -> None:
        boots.append(outcome)

    with ProgressDisplay() as display:
        found = train(kernel, BRANCHES, [WORKLOAD], open_machine("skylake"), display, seen)
    return found[WORKLOAD.name], len(boots)


def test_of_two_processes_one_trains_and_the_other_reads_back(micro_kernel: Kernel) -> None:
    for path in (micro_kernel.folder / "profiles").rglob(f"{WORKLOAD.amount}.counts*"):
        path.unlink()
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        (first, boots), (second, others) = pool.map(trained, repeat(micro_kernel, 2), chunksize=1)
    assert first == second
    assert boots + others == 1


def test_thinner_samples_know_less(micro_kernel: Kernel, exact: BranchCounts) -> None:
    traces: list[Path] = []
    dense = sampled(micro_kernel, 211, traces, wanted=False)
    thin = sampled(micro_kernel, 20_011, traces, wanted=True)
    assert dense.sampled
    assert thin.sampled
    assert not exact.sampled
    assert len(thin.ranges) < len(dense.ranges) < len(exact.ranges)
    assert overlap(exact, thin).code < overlap(exact, dense).code
    assert overlap(exact, dense).code > 0.9
    # Nobody else wanted the first one's trace, and the second one's was handed on.
    assert len(traces) == 1
    assert not list((micro_kernel.folder / "profiles").rglob("*.perf.data"))


def test_what_was_sampled_once_is_read_back(micro_kernel: Kernel) -> None:
    traces: list[Path] = []
    first = sampled(micro_kernel, 211, traces, wanted=False)
    assert sampled(micro_kernel, 211, traces, wanted=False) == first
    assert first.workloads == (WORKLOAD.name,)
    assert first.build_id == micro_kernel.build_id


def test_objects_that_no_sample_is_of_are_as_without_a_profile(
    micro_kernel: Kernel, tmp_path: Path
) -> None:
    counts = sampled(micro_kernel, 211, [], wanted=False)
    toolchain = find_toolchain()
    profile, idle = find_profile_maker("autofdo").make(
        counts, micro_kernel, toolchain, tmp_path / "made"
    )
    assert profile.stat().st_size > 1000
    left = set(idle.read_text().split())
    assert {"ipc/mqueue.o", "net/ipv4/tcp_input.o"} <= left
    assert "kernel/sched/core.o" not in left


def test_a_period_in_which_a_workload_does_not_get_is_said(micro_kernel: Kernel) -> None:
    said = r"training on context-switch failed: with a sample every 1000000000000 branches: "
    with pytest.raises(TrainingFailed, match=said):
        sampled(micro_kernel, 10**12, [], wanted=False)
