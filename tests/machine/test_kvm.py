# SPDX-License-Identifier: GPL-2.0-or-later
"""The machine `kvm` with real boots of a real kernel, whose processor QEMU emulates here."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from kernels import kept_kernel
from kernsmith.guest.own import read_own_workload
from kernsmith.guest.workloads import Workload, load_catalogue
from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.recipe import make_recipe
from kernsmith.kernel.source import Source
from kernsmith.machine import Job, Outcome, find_machine
from kernsmith.machine import kvm as kvm_module
from kernsmith.machine.kvm import Kvm, KvmSession
from kernsmith.study import Study, plan_variants

pytestmark = pytest.mark.kernel

PROGRAM = """
    #include <fcntl.h>
    #include <stdlib.h>
    #include <string.h>
    #include <unistd.h>
    int main(int count, char **words)
    {
        int fd = open("/proc/sys/vm/panic_on_oom", O_WRONLY);
        if (strcmp(words[1], "hang") == 0)
            for (;;)
                pause();
        write(fd, "1", 1);
        for (;;)
            memset(malloc(1 << 20), 1, 1 << 20);
    }
"""


def machine() -> Kvm:
    found = find_machine("kvm", "", {"accel": "tcg"})
    assert isinstance(found, Kvm)
    return found


def workload(name: str) -> Workload:
    """Little of it: an emulated processor is slow, and nothing is asked of its times."""
    return replace(load_catalogue().select([name])[0], rounds=3, warmup=1)


def own(folder: Path, what: str) -> Workload:
    """A workload that ends its guest, or never ends itself."""
    (folder / "ender.c").write_text(PROGRAM)
    subprocess.run(
        ["gcc", "-static", "-w", "-o", str(folder / "ender"), str(folder / "ender.c")], check=True
    )
    table = f'name = "{what}"\nprogram = "ender"\narguments = ["{what}"]\nrounds = 1\nwarmup = 0\n'
    (folder / f"{what}.toml").write_text(table)
    return read_own_workload(folder / f"{what}.toml")


@dataclass(frozen=True)
class Seen:
    """What came of three runs of two workloads in one session.

    bound, others: the processors of the guest's own processor, and of QEMU's other threads.
    """

    outcomes: list[Outcome]
    session: KvmSession
    bound: set[int]
    others: list[set[int]]


@pytest.fixture(scope="module")
def seen(micro_kernel: Kernel, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    folder = tmp_path_factory.mktemp("kvm")
    jobs = [Job(workload(name), folder) for _ in range(3) for name in ("pipe", "file")]
    with machine().open(micro_kernel.vmlinux, folder) as session:
        outcomes = [session.run(job) for job in jobs]
        assert session._guest is not None
        thread = session._guest.thread
        rest = {int(entry.name) for entry in Path(f"/proc/{thread}/task").iterdir()} - {thread}
        others = [os.sched_getaffinity(each) for each in rest]
        bound = os.sched_getaffinity(thread)
    return Seen(outcomes, session, bound, others)


def test_several_runs_of_two_workloads_are_one_boot(seen: Seen) -> None:
    outcomes, session = seen.outcomes, seen.session
    assert [outcome.reason for outcome in outcomes] == [""] * 6
    assert {outcome.boot.number for outcome in outcomes} == {0}
    assert [boot.status for boot in session.boots] == ["ok"]
    assert session.boots[0].wall_seconds
    for outcome in outcomes:
        ticks, unit = outcome.metrics["reference_cycles"]
        assert unit == "cycles"
        assert ticks > 1e4
        assert not {"model_cycles", "virtual_seconds"} & set(outcome.metrics)
    shares = [
        sum(outcome.provenance["chunks"]) / outcome.metrics["reference_cycles"][0]
        for outcome in outcomes
    ]
    assert all(0 < share <= 1 for share in shares)
    assert max(shares) > 0.5, "others' turns on this processor lie behind the last chunk, if any"
    said = outcomes[0].console.read_text()
    assert said.count("kernsmith: begin pipe #") == said.count("kernsmith: begin file #") == 3


def test_what_a_processor_cannot_tell_is_left_out_with_its_reason(seen: Seen) -> None:
    """An emulated one has no PMU, and its kernel finds no rate of the time stamp counter."""
    for outcome in seen.outcomes:
        absent = outcome.provenance["absent"]
        assert absent["kernel_cycles"] == "there is no PMU, or it has no such event"
        assert not absent.keys() & outcome.metrics.keys()
        named = {metric.name for metric in machine().metrics} - {"least_cycles"}
        assert absent.keys() | outcome.metrics.keys() == named
        fine = outcome.provenance["clock"] in ("tsc", "tsc-early", "kvm-clock")
        assert fine == ("seconds" in outcome.metrics)


def test_the_guests_processor_is_bound_to_one_of_this_host(seen: Seen) -> None:
    processor = machine().processor
    assert seen.bound == {processor}
    assert seen.others
    if len(os.sched_getaffinity(0)) > 1:
        assert all(processor not in each for each in seen.others)


def test_what_the_host_was_like_is_kept_with_each_run(seen: Seen) -> None:
    told = json.loads(json.dumps(seen.outcomes[-1].provenance))
    assert {"processor", "governor", "load", "throttling"} <= set(told["conditions"])
    assert told["processor"] == machine().processor


def test_a_guest_that_panics_is_told_with_its_last_lines_and_the_next_one_boots_anew(
    micro_kernel: Kernel, tmp_path: Path
) -> None:
    panics = own(tmp_path, "panic")
    with machine().open(micro_kernel.vmlinux, tmp_path / "session") as opened:
        first = opened.run(Job(panics, tmp_path))
        again = opened.run(Job(panics, tmp_path))
        assert len(opened.boots) == 1
        then = opened.run(Job(workload("pipe"), tmp_path))
    assert first.status == again.status == "panic"
    assert "panic_on_oom" in first.reason
    assert "the console's last lines: " in first.reason
    assert "Kernel panic - not syncing" in first.console.read_text()
    assert again.reason.endswith("(not tried again in this session)")
    assert then.ok, then.reason
    assert [boot.status for boot in opened.boots] == ["panic", "ok"]
    assert (first.boot.number, then.boot.number) == (0, 1)


def test_a_guest_that_hangs_is_ended_after_the_time_limit(
    micro_kernel: Kernel, tmp_path: Path
) -> None:
    with machine().open(micro_kernel.vmlinux, tmp_path / "session") as opened:
        job = Job(own(tmp_path, "hang"), tmp_path)
        guest = opened._booted(job)
        guest.time_limit = 2.0
        found = opened.run(job)
        assert not Path(f"/proc/{guest.thread}").exists()
    assert found.status == "hang"
    assert found.reason.startswith("hang did not end in 2 s; the console's last lines: ")
    assert opened.boots[0].status == "hang"


def test_a_kernel_that_does_not_start_is_booted_once(
    micro_kernel: Kernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "init"
    broken.write_text("this is not a program")
    opened_machine = machine()
    monkeypatch.setattr(kvm_module, "timed_program", lambda work: broken)
    with opened_machine.open(micro_kernel.vmlinux, tmp_path / "session") as opened:
        found = [opened.run(Job(workload(name), tmp_path)) for name in ("pipe", "file")]
    assert [each.status for each in found] == ["panic", "panic"]
    assert "kernel panic: No working init found" in found[0].reason
    assert len(opened.boots) == 1


def test_an_image_that_is_no_kernel_fails(tmp_path: Path) -> None:
    image = tmp_path / "vmlinux"
    image.write_bytes(b"\x7fELF nonsense")
    with machine().open(image, tmp_path / "session") as opened:
        found = opened.run(Job(workload("pipe"), tmp_path))
    assert found.status == "failed"
    assert found.reason.startswith("QEMU did not start: qemu-system-")


def test_workloads_of_another_guest_program_have_a_boot_of_their_own(
    micro_kernel: Kernel, tmp_path: Path
) -> None:
    names = ("pipe", "lmbench-pipe-latency", "lmbench-context-switch")
    with machine().open(micro_kernel.vmlinux, tmp_path / "session") as opened:
        found = [opened.run(Job(workload(name), tmp_path)) for name in names]
    assert [each.reason for each in found] == ["", "", ""]
    assert [each.boot.number for each in found] == [0, 1, 1]
    assert [boot.status for boot in opened.boots] == ["ok", "ok"]


def test_a_program_in_a_root_runs_many_times_in_a_boot(source: Source, tmp_path: Path) -> None:
    study = Study(source="debian:7.3", config="root", factors=(("profile", ("none",)),))
    kernel = kept_kernel(make_recipe(plan_variants(study, ())[0], source))
    (tmp_path / "tree/bin").mkdir(parents=True)
    (tmp_path / "sum.c").write_text("int main(void) { return 7; }\n")
    program = tmp_path / "tree/bin/sum"
    subprocess.run(["gcc", "-static", "-o", program, tmp_path / "sum.c"], check=True)
    file = tmp_path / "sum.toml"
    table = 'name = "sum"\nprogram = "/bin/sum"\nrounds = 2\nwarmup = 1\n'
    file.write_text(f'{table}[check]\nstatus = 7\n[root]\nimage = "tree"\n')
    job = Job(read_own_workload(file), tmp_path)
    with machine().open(kernel.vmlinux, tmp_path / "session") as opened:
        found = [opened.run(job) for _ in range(2)]
    assert [each.reason for each in found] == ["", ""]
    assert len(opened.boots) == 1
    assert all(each.metrics["reference_cycles"][0] > 0 for each in found)
