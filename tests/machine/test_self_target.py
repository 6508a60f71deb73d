# SPDX-License-Identifier: GPL-2.0-or-later
"""The machine self, really: a Debian in QEMU is the one computer, and goes through a folder alone.

Its kernels are entered by kexec and by a boot entry of GRUB, measure, die, and are left again.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernels import ALL
from kernsmith.machine import Job, Outcome, find_machine
from kernsmith.machine.remote.folder import Told, finished, unpack
from kernsmith.machine.self import Itself
from ssh_server import needs_sshd
from ssh_target import KEEP, Target, jobs, wait_until
from target_disk import make_target

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.timeout(0),
    pytest.mark.skipif(not os.environ.get(ALL), reason="it takes minutes: make test-all does it"),
    pytest.mark.xdist_group("ssh-target"),
]
LONG = 100_000_000
UNITS = "/etc/systemd/system/kernsmith-batch*.service"


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    needs_sshd()
    made = Target(make_target(), tmp_path_factory.mktemp("self-target"))
    with made.running(loader=True):
        wait_until("the first boot", lambda: target_is_up(made))
        yield made


def target_is_up(target: Target) -> bool:
    return target.ssh("cat /proc/cmdline").startswith("BOOT_IMAGE=")


def packed(target: Target, folder: Path, *boots: list[Job], **settings: object) -> Itself:
    """A folder on the computer that is begun there."""
    found = find_machine("self", "", {"host": "target", "runs": 2, "pause": 1, **settings})
    assert isinstance(found, Itself)
    found.pack([(target.image, each) for each in boots], folder)
    target.bring(folder, f"/var/lib/kernsmith/{folder.name}")
    told = target.ssh(f"/var/lib/kernsmith/{folder.name}/kernsmith-batch start 2>&1")
    assert "boots; in 1 s this computer leaves its kernel" in told, told
    return found


def state(target: Target, name: str) -> str:
    return target.ssh(f"cat /var/lib/kernsmith/{name}/state")


def told_by(target: Target, folder: Path) -> tuple[Told, ...]:
    target.fetch(f"/var/lib/kernsmith/{folder.name}", folder)
    return unpack(folder)


def back(target: Target, machine: Itself, folder: Path) -> dict[str, Outcome]:
    target.fetch(f"/var/lib/kernsmith/{folder.name}", folder)
    return dict(machine.unpack(folder))


def named(prefix: str, found: list[Job]) -> list[Job]:
    return [Job(job.workload, job.folder, name=f"{prefix}-{job.name}") for job in found]


def is_as_before(target: Target) -> bool:
    left = target.ssh(f"ls {UNITS} /boot/grub/custom.cfg 2>/dev/null; grub-editenv list")
    return left.strip() in ("", "next_entry=") and target_is_up(target)


@pytest.mark.parametrize("enter", ["kexec", "grub"])
def test_kernels_are_entered_one_after_the_other_and_left(
    target: Target, tmp_path: Path, enter: str
) -> None:
    folder = tmp_path / f"whole-{enter}"
    boots = [named(str(n), jobs(tmp_path, ("pipe", 20), ("null-syscall", 20))) for n in range(2)]
    machine = packed(target, folder, *boots, enter=enter)
    wait_until("the end", lambda: " finished" in state(target, folder.name))
    found = back(target, machine, folder)
    assert [each.status for each in found.values()] == ["ok"] * 4
    assert {each.provenance["boot"] for each in found.values()}.__len__() == 2
    assert all(each.metrics["reference_cycles"][0] > 0 for each in found.values())
    # An emulated computer's clock may go by ticks: then no run says seconds by it.
    for each in found.values():
        assert ("seconds" in each.metrics) != ("seconds" in each.provenance.get("absent", {}))
    assert finished(folder)
    wait_until("its own kernel", lambda: is_as_before(target), 60)


def test_a_kernel_that_panics_ends_it_and_the_computer_comes_back(
    target: Target, tmp_path: Path
) -> None:
    folder = tmp_path / "dies"
    first = named("0", jobs(tmp_path, ("pipe", 20), ("null-syscall", LONG)))
    machine = packed(target, folder, first, named("1", jobs(tmp_path, ("pipe", 20))))
    results = f"/var/lib/kernsmith/{folder.name}/boots/001/results"
    wait_until("the run", lambda: " begin 0-trial-null" in target.ssh(f"cat {results}"))
    target.ssh("sync; (sleep 1; echo c > /proc/sysrq-trigger) >/dev/null 2>&1 </dev/null &")
    wait_until("the end", lambda: " stopped at the first failure" in state(target, folder.name))
    found = back(target, machine, folder)
    assert {name: each.status for name, each in found.items()} == {
        "0-trial-pipe": "ok", "0-trial-null-syscall": "panic",
    }  # fmt: skip
    assert "sysrq triggered crash" in found["0-trial-null-syscall"].reason, "its last words"
    assert not finished(folder), "the next kernel was not begun"
    wait_until("its own kernel", lambda: is_as_before(target), 60)


def test_a_workload_that_stays_in_the_kernel_ends_it_and_the_computer_comes_back(
    target: Target, tmp_path: Path
) -> None:
    folder = tmp_path / "stays"
    machine = packed(target, folder, jobs(tmp_path, ("null-syscall", LONG)), time_limit=30)
    results = f"/var/lib/kernsmith/{folder.name}/boots/001/results"
    wait_until("the run", lambda: " begin trial-null" in target.ssh(f"cat {results}"))
    target.ssh(KEEP)
    wait_until("the end", lambda: " stopped at the first failure" in state(target, folder.name))
    (found,) = back(target, machine, folder).values()
    assert (found.status, found.reason) == (
        "hang", "the workload was killed and stayed in the kernel",
    )  # fmt: skip
    wait_until("its own kernel", lambda: is_as_before(target), 60)


def test_a_boot_that_never_comes_so_far_is_left(target: Target, tmp_path: Path) -> None:
    """In emergency mode nothing of a batch is begun, and nobody is there to do anything."""
    folder = tmp_path / "emergency"
    place = f"/var/lib/kernsmith/{folder.name}"
    settings = {"host": "target", "runs": 2, "words": "systemd.unit=emergency.target"}
    found = find_machine("self", "", settings)
    assert isinstance(found, Itself)
    found.pack([(target.image, jobs(tmp_path, ("pipe", 20)))], folder)
    program = folder / "kernsmith-batch"
    text = program.read_text()
    program.write_text(text.replace("slack=600", "slack=-1270"))  # of 2 runs of 600 s: 50 s
    target.bring(folder, place)
    target.ssh(f"cd {place}; sed -i '/kernsmith-batch$/d' checksums; ./kernsmith-batch start")
    wait_until("the end", lambda: " stopped at the first failure" in state(target, folder.name))
    assert "up 001" not in state(target, folder.name)
    (told,) = told_by(target, folder)
    assert (told.status, told.reason[:27]) == ("panic", "the kernel did not come up,")
    wait_until("its own kernel", lambda: is_as_before(target), 60)
