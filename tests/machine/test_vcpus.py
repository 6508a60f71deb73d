# SPDX-License-Identifier: GPL-2.0-or-later
"""Guests with several vCPUs: who needs them gets them, and every counter is the same again."""

from dataclasses import replace
from pathlib import Path

import pytest

from kernsmith.engine import Silent, prepare
from kernsmith.errors import UserError
from kernsmith.guest.own import parse_own_workload
from kernsmith.guest.workloads import Workload, load_catalogue
from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.source import Source
from kernsmith.machine import Job, Outcome, find_machine, run_once
from kernsmith.machine.protocol import Choosy
from kernsmith.machine.tcg import Table, Tcg, open_machine
from kernsmith.profile.counts import read_body
from kernsmith.study import Design, Study
from kernsmith.study.file import read_study
from kernsmith.study.writing import write_study

CPU = "skylake"
CATALOGUE = load_catalogue()
SYMBOLS = {"SMP": "y", "NR_CPUS": "8", "X86_MPPARSE": "y", "FUTEX": "y", "SHMEM": "y"}


def machine(vcpus: int) -> Tcg:
    return open_machine(CPU, Table.model_validate({"vcpus": vcpus}))


def short(name: str) -> Workload:
    (work,) = CATALOGUE.select([name])
    return replace(work, rounds=200, warmup=20)


def boot(kernel: Kernel, folder: Path, name: str, vcpus: int = 1) -> Outcome:
    job = Job(short(name), folder, profile=True)
    outcome = run_once(machine(vcpus), kernel.vmlinux, job)
    assert outcome.ok, outcome.reason
    return outcome


@pytest.mark.kernel
def test_two_take_turns_in_the_same_way_in_every_boot(micro_kernel: Kernel, tmp_path: Path) -> None:
    one, other = (boot(micro_kernel, tmp_path / word, "cpu-pipe") for word in ("one", "other"))
    assert "2,sockets=2,cores=1,threads=1" in one.boot.command
    assert one.metrics == other.metrics
    assert one.counts and other.counts
    assert one.counts.read_bytes() == other.counts.read_bytes()
    body = read_body(one.counts.read_text().splitlines(), origin=one.counts)
    assert sum(body.branches.values()) > 0.9 * one.metrics["taken_branches"][0]
    # What no kernel does that runs on one processor alone: it interrupts another.
    handlers = sum(count for (_, to), count in body.branches.items() if to == called(micro_kernel))
    assert handlers > 200


def called(kernel: Kernel) -> int:
    """Where the kernel looks at what another processor wants of it."""
    for line in kernel.system_map.read_text().splitlines():
        address, _, name = line.split()
        if name == "sched_ttwu_pending":
            return int(address, 16)
    raise AssertionError("this kernel wakes nobody on other processors")


@pytest.mark.kernel
def test_a_machine_with_two_has_them_for_every_workload(
    micro_kernel: Kernel, tmp_path: Path
) -> None:
    alone, both = (
        boot(micro_kernel, tmp_path / str(vcpus), "pipe", vcpus).metrics for vcpus in (1, 2)
    )
    assert both["user_instructions"] == alone["user_instructions"]
    assert both["kernel_instructions"] != alone["kernel_instructions"]


@pytest.mark.kernel
def test_a_kernel_that_finds_one_processor_fails_the_workload_that_needs_two(
    micro_kernel: Kernel, tmp_path: Path
) -> None:
    job = Job(short("cpu-futex"), tmp_path, words=("maxcpus=1",))
    outcome = run_once(machine(1), micro_kernel.vmlinux, job)
    assert not outcome.ok
    assert "sched_setaffinity: no such CPU" in outcome.reason


@pytest.mark.kernel
def test_there_is_no_trace_of_several(micro_kernel: Kernel, tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        run_once(machine(1), micro_kernel.vmlinux, Job(short("cpu-pipe"), tmp_path, trace="x"))
    assert str(caught.value) == (
        "a trace is of one vCPU, and the guest of cpu-pipe has 2: what replays traces cannot take "
        "it"
    )


def test_one_is_what_there_was_before_and_two_are_of_the_key_of_a_run() -> None:
    one, two = machine(1).fingerprint(), machine(2).fingerprint()
    assert one == open_machine(CPU).fingerprint()
    words = list(one["command"])
    words[words.index("-smp") + 1] = "2,sockets=2,cores=1,threads=1"
    assert words != one["command"]
    assert two == {**one, "command": words}


def test_who_needs_two_says_so_and_its_runs_are_named_by_it() -> None:
    for workload in CATALOGUE.select(["smp"]):
        assert workload.vcpus == 2
        assert workload.amount.endswith("-2-vcpus")
        assert replace(workload, vcpus=1).amount == workload.amount.removesuffix("-2-vcpus")
    (pipe,) = CATALOGUE.on_vcpus(4).select(["pipe"])
    assert (pipe.vcpus, *CATALOGUE.select(["pipe"])) == (4, replace(pipe, vcpus=1))


@pytest.mark.parametrize(
    ("other", "missing"),
    [
        ({}, ()),
        ({"SMP": "n", "NR_CPUS": "1"}, ("CONFIG_SMP",)),
        ({"NR_CPUS": "1"}, ("CONFIG_NR_CPUS=2",)),
        ({"X86_MPPARSE": "n"}, ("CONFIG_ACPI or CONFIG_X86_MPPARSE",)),
        ({"X86_MPPARSE": "n", "ACPI": "y"}, ()),
    ],
)
def test_a_kernel_must_find_and_run_so_many(
    other: dict[str, str], missing: tuple[str, ...]
) -> None:
    (workload,) = CATALOGUE.select(["cpu-futex"])
    assert workload.missing(SYMBOLS | other) == missing
    assert replace(workload, needs=(), vcpus=1).missing({}) == ()


def test_a_file_of_a_user_asks_for_them_and_not_for_any_number(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('name = "mine"\nprogram = "mine"\nvcpus = 2\n')
    assert parse_own_workload(file).vcpus == 2
    file.write_text('name = "mine"\nprogram = "mine"\nvcpus = 9\n')
    with pytest.raises(UserError, match=r"mine\.toml: vcpus: .*less than or equal to 8"):
        parse_own_workload(file)


def study(*workloads: str, **more: object) -> Study:
    factors = (("label", ("a", "b")),)
    found = Study(source="debian:7.3", config="micro", factors=factors, workloads=workloads)
    return replace(found, **more)  # type: ignore[arg-type]


def test_a_study_boots_their_layouts(source: Source) -> None:
    prepared = prepare(study("pipe", "cpu-pipe"), Silent())
    assert {each.name: each.vcpus for each in prepared.workloads} == {"pipe": 1, "cpu-pipe": 2}
    two = prepare(study("pipe", settings=(("vcpus", 2),)), Silent())
    assert [each.vcpus for each in two.workloads] == [2]
    with pytest.raises(UserError) as caught:
        prepare(study("pipe", "cpu-pipe", design=Design(layouts_by="replay")), Silent())
    assert str(caught.value) == (
        "design.layouts_by: a trace is of one vCPU, and the guest of cpu-pipe has 2: allowed is "
        "boot (--layouts-by boot)"
    )


def test_samples_are_not_taken_of_them(source: Source) -> None:
    sampled = study("cpu-pipe", factors=(("profile", ("none", "autofdo")), ("period", ("1009",))))
    with pytest.raises(UserError, match="samples are taken of a trace, which is of one vCPU"):
        prepare(sampled, Silent())


def test_a_machine_with_several_boots_layouts_unless_it_is_told_otherwise(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    table = (
        '[source]\nuse = "debian:7.3"\n[machine.settings]\nvcpus = 2\n'
        '[factors]\nlabel = ["a", "b"]\n'
    )
    file.write_text(table)
    found = read_study(file)
    assert (found.vcpus, found.design.layouts_by) == (2, "boot")
    again = tmp_path / "again.toml"
    again.write_text(write_study(found))
    assert read_study(again) == replace(found, name="again")
    file.write_text(f'{table}[design]\nlayouts_by = "replay"\n')
    with pytest.raises(UserError) as caught:
        read_study(file)
    assert str(caught.value).endswith(
        "design.layouts_by: a trace is of one vCPU, and machine.settings asks for 2: allowed is "
        '"boot"'
    )


def test_a_machine_whose_guests_have_one_says_so() -> None:
    kvm = find_machine("kvm", "", {"accel": "tcg"})
    assert isinstance(kvm, Choosy)
    assert kvm.refusal(short("pipe")) == ""
    assert kvm.refusal(short("cpu-pipe")) == (
        "the workload 'cpu-pipe' needs 2 vCPUs, and guests of the machine kvm have one: use tcg"
    )
