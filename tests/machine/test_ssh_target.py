# SPDX-License-Identifier: GPL-2.0-or-later
"""The machine ssh, really: kernels boot there by kexec, measure, die, hang, and are left again.

The machine is emulated, and each boot is one of a whole Debian: a minute or two for each test.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import ssh_target
from kernels import ALL
from kernsmith.machine import Outcome, find_machine
from kernsmith.machine.metrics import metric
from kernsmith.machine.remote.scripts import MARK
from kernsmith.machine.remote.session import SshSession
from kernsmith.machine.running import build_id_in
from ssh_server import needs_sshd
from ssh_target import KEEP, Target, jobs, tell, wait_until
from target_disk import make_target

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.timeout(0),
    pytest.mark.skipif(not os.environ.get(ALL), reason="it takes minutes: make test-all does it"),
    pytest.mark.xdist_group("ssh-target"),
]
LONG = 100_000_000
SHORTLY = 120.0  # a boot takes half a minute, under load


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    needs_sshd()
    made = Target(make_target(), tmp_path_factory.mktemp("target"))
    with made.running():
        yield made


def begun(target: Target) -> bool:
    found = target.ssh("cat /var/lib/kernsmith/batches/*/results; cat /proc/cmdline")
    return " begin " in found and MARK in found


def measured_while(
    target: Target, folder: Path, happens: threading.Thread, **settings: object
) -> tuple[list[Outcome], SshSession]:
    """Outcomes of a run that never ends, beside which something happens, and of one behind it."""
    machine = find_machine("ssh:target", "", target.settings(**settings))
    with machine.open(target.image, folder / "session") as session:
        happens.start()
        found = [session.run(job) for job in jobs(folder, ("null-syscall", LONG), ("pipe", 20))]
    happens.join()
    assert isinstance(session, SshSession)
    return found, session


def test_a_kernel_boots_measures_and_is_left(target: Target, tmp_path: Path) -> None:
    machine = find_machine("ssh:target", "", target.settings())
    with machine.open(target.image, tmp_path / "session") as session:
        found = [session.run(job) for job in jobs(tmp_path, ("pipe", 20), ("null-syscall", 20))]
    assert [each.reason for each in found] == ["", ""]
    assert [each.status for each in found] == ["ok", "ok"]
    for each in found:
        cycles, unit = each.metrics["reference_cycles"]
        assert unit == metric("reference_cycles").unit
        assert 0 < min(each.provenance["runs"]) <= cycles <= max(each.provenance["runs"])
        # An emulated computer's clock may go by ticks: then no run says seconds by it.
        assert ("seconds" in each.metrics) != ("seconds" in each.provenance.get("absent", {}))
        assert each.provenance["conditions"]["processor"]
    # Both in one boot, which is neither the one before nor the one behind it.
    (boot,) = {each.provenance["boot"] for each in found}
    now = target.ssh("cat /proc/sys/kernel/random/boot_id").strip()
    assert len({boot, now, machine.seen.boot}) == 3  # type: ignore[attr-defined]
    assert [each.status for each in session.boots] == ["ok"]
    assert MARK not in target.ssh("cat /proc/cmdline")
    assert target.ssh("ls /var/lib/kernsmith").split()[0].startswith("runner-")
    assert build_id_in(target.image) != machine.seen.build_id  # type: ignore[attr-defined]


def test_a_kernel_that_panics_is_recorded_and_the_machine_comes_back(
    target: Target, tmp_path: Path
) -> None:
    def panic() -> None:
        wait_until("the run", lambda: begun(target))
        target.ssh("sync; (sleep 1; echo c > /proc/sysrq-trigger) >/dev/null 2>&1 </dev/null &")

    found, session = measured_while(target, tmp_path, threading.Thread(target=panic))
    assert [each.status for each in found] == ["panic", "panic"]
    assert "restarted while the workload ran" in found[0].reason
    assert "sysrq triggered crash" in found[0].reason, "its last words"
    assert [each.status for each in session.boots] == ["panic"]
    assert MARK not in target.ssh("cat /proc/cmdline")


def test_a_workload_that_stays_in_the_kernel_is_a_hang_that_a_reboot_ends(
    target: Target, tmp_path: Path
) -> None:
    def keep() -> None:
        wait_until("the run", lambda: begun(target))
        target.ssh(KEEP)

    thread = threading.Thread(target=keep)
    found, session = measured_while(target, tmp_path, thread, runs=1, time_limit=30)
    assert [each.status for each in found] == ["hang", "hang"]
    assert found[0].reason == (
        "the workload was killed and stays in the kernel; a reboot brought the machine back"
    )
    assert [each.status for each in session.boots] == ["hang"]
    assert MARK not in target.ssh("cat /proc/cmdline")


def test_a_kernel_that_hangs_is_switched_off_and_on(target: Target, tmp_path: Path) -> None:
    def hang() -> None:
        wait_until("the run", lambda: begun(target))
        tell(f"{target.folder}/qmp", "stop")

    thread = threading.Thread(target=hang)
    found, session = measured_while(target, tmp_path, thread, boot_seconds=SHORTLY)
    assert found[0].status == "hang"
    assert "power_cycle brought the machine back" in found[0].reason
    assert [each.status for each in session.boots] == ["hang"]
    assert MARK not in target.ssh("cat /proc/cmdline")


def test_what_was_measured_before_a_kill_is_taken_up(target: Target, tmp_path: Path) -> None:
    settings = json.dumps(target.settings())
    command = [sys.executable, ssh_target.__file__, str(target.image), str(tmp_path), settings]
    with subprocess.Popen([command[0], command[1], "measure", *command[2:], "pipe", "file"],
                          stdout=subprocess.PIPE, text=True) as killed:  # fmt: skip
        assert killed.stdout is not None
        assert killed.stdout.readline().startswith("ok")
        os.kill(killed.pid, signal.SIGKILL)
    assert MARK in target.ssh("cat /proc/cmdline")
    machine = find_machine("ssh:target", "", target.settings())
    with machine.open(target.image, tmp_path / "again") as session:
        (found,) = [session.run(job) for job in jobs(tmp_path, ("pipe", 20))]
    assert found.ok
    assert found.provenance["taken_up"]
    assert MARK not in target.ssh("cat /proc/cmdline")
