# SPDX-License-Identifier: GPL-2.0-or-later
"""A session of the machine ssh at a scripted host: cut at each command, killed at each command, and
with hosts that die, hang in part, fall back and stay away. What boots really is in
test_ssh_target.py."""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path

import pytest

from kernsmith import process
from kernsmith.errors import KernsmithError, UserError
from kernsmith.machine import Outcome, ssh
from kernsmith.machine.remote import connection, session
from kernsmith.machine.remote.connection import Unreachable
from kernsmith.machine.remote.look import read_look
from kernsmith.machine.remote.scripts import LEAVE
from kernsmith.machine.remote.session import LeftBehind, SshSession
from scripted_host import OWN, Killed, ScriptedSsh, World, jobs, machine_at, small_image


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_image(tmp_path_factory.mktemp("image"))


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_PAUSE_SECONDS", 0.02)
    monkeypatch.setattr(session, "_SLACK_SECONDS", 0.2)
    if Path("/dev/shm").is_dir():
        monkeypatch.setattr(tempfile, "tempdir", "/dev/shm")


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "host")


def machine(world: World, **settings: object) -> ScriptedSsh:
    return machine_at(world, read_look, **settings)


def measured(
    machine: ScriptedSsh, image: Path, folder: Path, *names: str
) -> tuple[list[Outcome], SshSession]:
    with machine.open(image, folder / "session") as opened:
        found = [opened.run(job) for job in jobs(folder, *names)]
    return found, opened


def test_two_runs_in_one_boot(world: World, image: Path, tmp_path: Path) -> None:
    found, opened = measured(machine(world), image, tmp_path, "a", "b")
    assert [each.status for each in found] == ["ok", "ok"]
    assert [boot.status for boot in opened.boots] == ["ok"]
    assert world.is_as_before()
    assert [path.name[:7] for path in world.folder.iterdir()] == ["runner-"]


@pytest.fixture(scope="module")
def commands(image: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What a session of one run asks of a host, in its order."""
    folder = tmp_path_factory.mktemp("whole")
    whole = World(folder / "host")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(connection, "_PAUSE_SECONDS", 0.02)
        measured(machine(whole), image, folder, "a")
    return whole.scripts


@pytest.mark.parametrize("when", ["before", "behind"])
def test_a_connection_that_is_lost_at_any_command_loses_nothing(
    commands: list[str], image: Path, tmp_path: Path, when: str
) -> None:
    for number, script in enumerate(commands, 1):
        world = World(tmp_path / str(number), {number: when})
        found, _ = measured(machine(world), image, tmp_path, "a")
        at = f"{when} {script}"
        assert [(each.status, each.reason) for each in found] == [("ok", "")], at
        assert world.is_as_before(), at


def test_who_is_killed_at_any_command_goes_on(image: Path, tmp_path: Path) -> None:
    for number in itertools.count(1):
        world = World(tmp_path / str(number), {number: "killed"})
        reached, told = machine(world), 0
        killed = SshSession(reached, image, tmp_path / "killed")
        try:
            for job in jobs(tmp_path, "a"):
                assert killed.run(job).ok
                told += 1
            killed.close(whole=True)
        except Killed:
            at = f"killed at {world.scripts[-1]}"
        else:
            break  # how many there are depends on how often it had to ask whether the host is up
        found, _ = measured(reached, image, tmp_path, "b" if told else "a")
        assert [each.status for each in found] == ["ok"], at
        assert world.is_as_before(), at
    assert number > 10


def test_what_was_measured_before_a_kill_is_not_measured_again(
    world: World, image: Path, tmp_path: Path
) -> None:
    killed = SshSession(machine(world), image, tmp_path / "killed")
    assert killed.run(jobs(tmp_path, "a")[0]).ok
    found, _ = measured(machine(world), image, tmp_path, "a")
    assert found[0].provenance["taken_up"]
    assert len((world.root / "started").read_text().splitlines()) == 1


@pytest.mark.parametrize("kept", [True, False])
def test_a_machine_that_was_left_in_a_measured_kernel_is_seen_in_its_own(
    world: World, image: Path, tmp_path: Path, kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = machine(world)
    killed = SshSession(found, image, tmp_path / "killed")
    assert killed.run(jobs(tmp_path, "a")[0]).ok
    assert not world.is_at_home()
    if not kept:
        (world.folder / "own").unlink()
    monkeypatch.setattr(ssh, "reach", lambda host, settings: found.reach())
    opened = ssh.open_machine("lab", found.settings)
    assert opened.seen.command == tuple(OWN.split())
    assert world.is_at_home() == (not kept), "who may still measure there is not disturbed"


def test_results_of_another_image_stay_until_they_are_told(
    world: World, image: Path, tmp_path: Path
) -> None:
    killed = SshSession(machine(world), image, tmp_path / "killed")
    assert killed.run(jobs(tmp_path, "a")[0]).ok
    other = tmp_path / "vmlinux"
    other.write_bytes(image.read_bytes() + b"\n")
    found, _ = measured(machine(world), other, tmp_path, "x")
    assert found[0].ok
    assert world.is_as_before()
    found, _ = measured(machine(world), image, tmp_path, "b", "a")
    assert [each.provenance.get("taken_up", False) for each in found] == [False, True]
    assert not (world.folder / "batches").exists(), "all is told"


def test_a_kernel_that_dies_is_a_panic_and_the_runs_behind_it_have_its_reason(
    world: World, image: Path, tmp_path: Path
) -> None:
    world.does("dies b")
    found, opened = measured(machine(world), image, tmp_path, "a", "b", "c")
    assert [each.status for each in found] == ["ok", "panic", "panic"]
    assert [boot.status for boot in opened.boots] == ["panic"]
    assert world.is_as_before()


def test_last_words_are_those_that_were_not_there_before(
    world: World, image: Path, tmp_path: Path
) -> None:
    kept = world.root / "sys/fs/pstore"
    kept.mkdir(parents=True)
    (kept / "dmesg-old").write_text("Kernel panic - not syncing: of another day\n")
    world.does("dies a")
    found, _ = measured(machine(world), image, tmp_path, "a")
    assert "nothing kept its last words" in found[0].reason
    new = "Kernel panic - not syncing: of this one"
    systemctl = world.root / "bin/systemctl"
    systemctl.write_text(f"{systemctl.read_text()}\necho '{new}' > {kept}/dmesg-new\n")
    found, _ = measured(machine(world), image, tmp_path, "a")
    assert found[0].reason.endswith(new)


def test_a_kernel_that_falls_back_into_the_own_one_is_none(
    world: World, image: Path, tmp_path: Path
) -> None:
    world.has("falls")
    found, _ = measured(machine(world), image, tmp_path, "a")
    assert (found[0].status, found[0].reason[:44]) == (
        "panic", "the machine came back in its own kernel, as ",
    )  # fmt: skip
    assert world.is_as_before()


def test_a_kexec_that_does_nothing_is_no_hang(world: World, image: Path, tmp_path: Path) -> None:
    world.has("stays")
    found, _ = measured(machine(world), image, tmp_path, "a")
    assert (found[0].status, found[0].reason) == (
        "failed", "the machine has not left its own kernel 2 s after kexec",
    )  # fmt: skip
    assert world.is_as_before()


def test_a_workload_that_stays_in_the_kernel_is_a_hang_that_a_reboot_ends(
    world: World, image: Path, tmp_path: Path
) -> None:
    world.does("stuck b")
    found, opened = measured(machine(world), image, tmp_path, "a", "b", "c")
    assert [each.status for each in found] == ["ok", "hang", "hang"]
    assert found[1].reason == (
        "the workload was killed and stays in the kernel; a reboot brought the machine back"
    )
    assert len(set((world.root / "started").read_text().splitlines())) == 1
    assert [boot.status for boot in opened.boots] == ["hang"]
    assert world.is_as_before()


def test_a_runner_without_an_end_is_a_hang_in_part(
    world: World, image: Path, tmp_path: Path
) -> None:
    world.does("ok -")
    world.has("waits")
    found, _ = measured(machine(world), image, tmp_path, "a", "b")
    # What it had measured before is there, and counts.
    assert [each.status for each in found] == ["ok", "hang"]
    assert found[1].reason.startswith("the runner has no end after 1.2 s, and the machine answers")
    assert world.is_as_before()


def test_a_hang_in_part_that_does_not_reboot_is_switched_off_and_on(
    world: World, image: Path, tmp_path: Path
) -> None:
    world.does("stubborn a")
    reached = machine(world, power_cycle=world.power_cycle())
    found, opened = measured(reached, image, tmp_path, "a")
    assert found[0].status == "hang"
    assert "it does not reboot: switching it off and on" in opened.console.read_text()
    assert world.is_as_before()


def test_a_hang_in_part_that_nothing_ends_is_recorded(
    world: World, image: Path, tmp_path: Path
) -> None:
    world.does("stubborn a")
    told: list[Outcome] = []
    with (
        pytest.raises(LeftBehind, match=r"machine\.settings\.power_cycle"),
        machine(world).open(image, tmp_path / "session") as opened,
    ):
        told += [opened.run(job) for job in jobs(tmp_path, "a")]
    assert (told[0].status, told[0].reason) == (
        "hang", "the workload was killed and stays in the kernel, and it does not reboot",
    )  # fmt: skip


@pytest.mark.parametrize("when", ["never", "silent"])
def test_a_machine_that_stays_away_is_recorded_before_the_study_ends(
    world: World, image: Path, tmp_path: Path, when: str
) -> None:
    if when == "never":
        world.has("never")
    else:
        world.does("silent a")
    told: list[Outcome] = []
    with (
        pytest.raises(LeftBehind, match=r"machine\.settings\.power_cycle"),
        machine(world).open(image, tmp_path / "session") as opened,
    ):
        told += [opened.run(job) for job in jobs(tmp_path, "a")]
    assert [each.status for each in told] == ["hang"]
    assert [boot.status for boot in opened.boots] == ["hang"]


def test_behind_a_machine_that_stays_away_nothing_is_begun(
    world: World, image: Path, tmp_path: Path
) -> None:
    world.has("never")
    told: list[Outcome] = []
    with (
        pytest.raises(Unreachable) as caught,
        machine(world).open(image, tmp_path / "session") as opened,
    ):
        told += [opened.run(job) for job in jobs(tmp_path, "a")]
        told += [opened.run(job) for job in jobs(tmp_path, "b")]
    assert [each.status for each in told] == ["hang"]
    assert "could not be put in order and may be in another kernel" in caught.value.__notes__[0]


@pytest.mark.parametrize("when", ["never", "silent"])
def test_a_machine_that_stays_away_is_switched_off_and_on(
    world: World, image: Path, tmp_path: Path, when: str
) -> None:
    if when == "never":
        world.has("never")
    else:
        world.does("silent a")
    reached = machine(world, power_cycle=world.power_cycle())
    found, _ = measured(reached, image, tmp_path, "a", "b")
    assert [each.status for each in found] == ["hang", "hang"]
    assert "power_cycle brought the machine back" in found[0].reason
    assert world.is_as_before()


def test_what_the_runner_complains_of_is_told(world: World, image: Path, tmp_path: Path) -> None:
    world.does("fails a kernsmith-runner: fsync of the results: Input/output error")
    found, _ = measured(machine(world), image, tmp_path, "a")
    assert (found[0].status, found[0].reason) == (
        "failed",
        "the runner ended before the trial did: kernsmith-runner: fsync of the results: "
        "Input/output error",
    )
    assert world.is_as_before()


def test_a_disk_that_is_full_while_it_measures_is_told_as_such(
    world: World, image: Path, tmp_path: Path
) -> None:
    world.does("fails a kernsmith-runner: write of the results: No space left on device")
    with pytest.raises(UserError, match=r"the disk of lab is full \(writing results\)"):
        measured(machine(world), image, tmp_path, "a")
    assert world.is_at_home()


def test_a_machine_that_cannot_be_left_is_told(world: World, image: Path, tmp_path: Path) -> None:
    told: list[Outcome] = []
    with (
        pytest.raises(LeftBehind) as caught,
        machine(world).open(image, tmp_path / "session") as opened,
    ):
        told += [opened.run(job) for job in jobs(tmp_path, "a")]
        world.has("stays")
    assert told[0].ok
    assert str(caught.value).startswith(
        "lab could not be put in order and may be in another kernel than its own: "
    )
    assert "steps.log" in str(caught.value)


def test_what_cannot_be_taken_away_is_told(world: World, image: Path, tmp_path: Path) -> None:
    with (
        pytest.raises(LeftBehind, match="lab could not be put in order: lab: taking away what"),
        machine(world).open(image, tmp_path / "session") as opened,
    ):
        opened.run(jobs(tmp_path, "a")[0])
        rm = world.root / "bin/rm"
        rm.write_text("#!/bin/sh\necho rm: read-only file system >&2; exit 1\n")
        rm.chmod(0o755)
        (world.root / "bin/rmdir").symlink_to(rm)


def test_a_mistake_in_a_study_keeps_its_own_words(
    world: World, image: Path, tmp_path: Path
) -> None:
    with (
        pytest.raises(UserError, match="of the study") as caught,
        machine(world).open(image, tmp_path / "session") as opened,
    ):
        opened.run(jobs(tmp_path, "a")[0])
        world.has("stays")
        raise UserError("of the study")
    assert "may be in another kernel" in caught.value.__notes__[0]


@pytest.mark.parametrize("measured", [True, False])
def test_a_reboot_that_does_not_happen_is_forced_in_a_measured_kernel_alone(
    world: World, measured: bool
) -> None:
    world.has("stays")
    if measured:
        (world.root / "proc/cmdline").write_text(f"{OWN} kernsmith.batch=0123\n")
    leave = LEAVE.format(verb="reboot", plain="reboot -f")
    process.run(["sh", "-c", world.next(f"{leave}; wait")], timeout=60)
    assert (world.root / "proc/sysrq-trigger").exists() == measured


def test_a_machine_that_boots_a_measured_kernel_by_default_is_told(
    world: World, image: Path, tmp_path: Path
) -> None:
    (world.root / "own").write_text("ro kernsmith.batch=0123\n")
    with pytest.raises(KernsmithError, match="boots a measured kernel by default"):
        measured(machine(world), image, tmp_path, "a")
