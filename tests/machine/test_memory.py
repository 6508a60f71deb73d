# SPDX-License-Identifier: GPL-2.0-or-later
"""How much memory a workload's guest has."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from kernsmith.guest.own import read_own_workload
from kernsmith.guest.workloads import Workload, load_catalogue
from kernsmith.kernel.artifact import Kernel
from kernsmith.machine import Job, Outcome, find_machine, run_once
from kernsmith.machine.protocol import Choosy
from kernsmith.machine.tcg import open_machine

PROGRAM = """
    #include <stdlib.h>
    int main(void)
    {
        for (int mib = 0; mib < 700; mib++) {
            char *block = malloc(1 << 20);
            for (int page = 0; page < 1 << 20; page += 4096)
                block[page] = 1;
        }
        return 0;
    }
"""


def written(folder: Path, more: str) -> Workload:
    (folder / "large.toml").write_text(
        f'name = "large"\nprogram = "large"\nrounds = 1\nwarmup = 0\n{more}\n'
    )
    return read_own_workload(folder / "large.toml")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("large")
    (folder / "large.c").write_text(PROGRAM)
    command = ["gcc", "-O0", "-static", "-w", "-o", str(folder / "large"), str(folder / "large.c")]
    subprocess.run(command, check=True)
    return folder


@pytest.mark.kernel
def test_what_starves_in_the_guest_as_it_is_runs_in_a_larger_one(
    micro_kernel: Kernel, folder: Path, tmp_path: Path
) -> None:
    def ran(workload: Workload, name: str) -> Outcome:
        machine = open_machine("skylake")
        return run_once(machine, micro_kernel.vmlinux, Job(workload, tmp_path / name))

    starved = ran(written(folder, ""), "as it is")
    assert "the guest had no memory left, and its kernel killed large" in starved.reason
    larger = ran(written(folder, "memory = 1024"), "larger")
    assert larger.ok, larger.reason
    assert larger.metrics["minor_faults"][0] > 690 * 256


def test_runs_in_other_memory_are_others(folder: Path) -> None:
    (pipe,) = load_catalogue().select(["pipe"])
    usual, larger = written(folder, ""), written(folder, "memory = 2048")
    assert (pipe.mib, usual.mib, larger.mib) == (512, 512, 2048)
    assert replace(pipe, root=Path("image")).mib == 1024
    assert larger.amount == f"{usual.amount}-2048-mib"


def test_guests_of_kvm_have_no_more_than_their_share() -> None:
    (pipe,) = load_catalogue().select(["pipe"])
    kvm = find_machine("kvm", "", {"accel": "tcg"})
    assert isinstance(kvm, Choosy)
    assert kvm.refusal(replace(pipe, memory=1024)) == ""
    assert kvm.refusal(replace(pipe, memory=1025)) == (
        "the workload 'pipe' needs 1025 MiB of memory, and guests of the machine kvm have at most "
        "1024: use tcg"
    )
