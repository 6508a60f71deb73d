# SPDX-License-Identifier: GPL-2.0-or-later
"""`kernsmith-batch`, as a computer's shell runs it: from the start to the end, killed at any step,
on full disks, with loaders that forget nothing, and on computers that cannot."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

import pytest

from kernsmith import process
from kernsmith.machine.remote.folder import unpack
from lone_computer import OWN, UNITS, Computer
from scripted_host import small_image


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_image(tmp_path_factory.mktemp("image"))


def computer(image: Path, tmp_path: Path, **settings: object) -> Computer:
    return Computer(tmp_path / "disk", image, **settings)  # type: ignore[arg-type]


def begun(image: Path, tmp_path: Path, **settings: object) -> Computer:
    found = computer(image, tmp_path, **settings)
    code, said = found.call("start")
    assert (code, said[:16]) == (0, "kernsmith-batch:"), said
    return found


def steps(found: Computer) -> list[str]:
    """The first two words of each line of the state."""
    return [" ".join(line.split()[:2]) for line in found.state()]


@pytest.mark.parametrize("enter", ["kexec", "grub"])
def test_from_the_start_to_the_end(image: Path, tmp_path: Path, enter: str) -> None:
    found = begun(image, tmp_path, enter=enter)
    found.go()
    assert steps(found) == [
        "started", "entering 001", "up 001", "ended 001", "entering 002", "up 002", "ended 002",
        "finished",
    ]  # fmt: skip
    assert found.left() == []
    assert "nokaslr kernsmith.batch=" in found.log() or enter == "grub"
    assert [told.status for told in unpack(found.folder)] == ["ok", "ok"]


def quoted(function: str, path: str) -> str:
    """What one of the script's functions for other programs' files makes of a path."""
    script = files("kernsmith.machine.remote").joinpath("kernsmith-batch.sh").read_text()
    lines = [line for line in script.splitlines() if line.startswith("of_")]
    script = "\n".join([*lines, f'{function} "$1"'])
    return process.run(["sh", "-c", script, "sh", path], timeout=30).output.rstrip("\n")


def test_paths_are_quoted_for_who_reads_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "grub-mkrelpath").write_text('#!/bin/sh\necho "$1"\n')
    (tmp_path / "grub-mkrelpath").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    path = '/home/it\'s 100% "my" $study'
    assert quoted("of_unit", path) == '/home/it\'s 100%% "my" $study'
    assert quoted("of_command", path) == '"/home/it\'s 100%% \\"my\\" $$study"'
    assert quoted("of_grub", path) == "'/home/it'\\''s 100% \"my\" $study'"


def test_words_that_grub_would_expand_are_not(
    image: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lone_computer.OWN", f"{OWN} memmap=64M$0x1000")
    found = begun(image, tmp_path, enter="grub")
    found.boot()
    custom = (found.root / "boot/grub/custom.cfg").read_text()
    assert r" memmap=64M\$0x1000 " in custom


def test_a_measured_kernel_has_the_words_of_the_own_one(image: Path, tmp_path: Path) -> None:
    found = begun(image, tmp_path, enter="grub")
    found.boot()
    found.boot()
    assert re.search(r"^root=/dev/vda1 ro panic=10 .* kernsmith\.batch=\w+/001$", found.cmdline())


@pytest.mark.parametrize("enter", ["kexec", "grub"])
def test_killed_at_any_step_it_goes_on_and_comes_back(
    image: Path, tmp_path: Path, enter: str
) -> None:
    whole = begun(image, tmp_path / "whole", enter=enter, boots=1)
    begins = int((whole.root / "count").read_text()) + 1
    whole.go()
    for number in range(begins, int((whole.root / "count").read_text()) + 1):
        found = begun(image, tmp_path / str(number), enter=enter, boots=1, go_on=True)
        found.put("kill", str(number))
        found.go()
        at = f"killed at {whole.log().splitlines()[number - 1]}"
        assert found.left() == [], at
        assert found.state()[-1] == "finished", at
        told = steps(found)
        assert told.count("entering 001") == 1, at
        assert ("ended 001" in told) != ("died 001" in told), at


@pytest.mark.parametrize("go_on", [True, False])
def test_whatever_of_its_state_is_left_it_goes_on(image: Path, tmp_path: Path, go_on: bool) -> None:
    whole = begun(image, tmp_path / "whole")
    whole.go()
    lines = (whole.folder / "state").read_text().splitlines(keepends=True)
    for length in range(1, len(lines)):
        found = begun(image, tmp_path / f"{length}", go_on=go_on)
        torn = lines[length][: len(lines[length]) // 2]
        (found.folder / "state").write_text("".join(lines[:length]) + torn + "\n")
        found.go()
        assert found.left() == [], lines[:length]
        told = steps(found)
        assert told[-1] in ("finished", "stopped at"), told
        for boot in ("001", "002"):
            assert told.count(f"entering {boot}") <= 1, told
            ended = told.count(f"ended {boot}") + told.count(f"died {boot}")
            assert ended == 1 or (not go_on and boot == "002" and ended == 0), told


def test_a_kernel_that_dies_ends_it_or_is_gone_over(image: Path, tmp_path: Path) -> None:
    ends = begun(image, tmp_path / "ends")
    ends.put("do", "panics")
    ends.go()
    assert steps(ends) == ["started", "entering 001", "up 001", "died 001", "stopped at"]
    on = begun(image, tmp_path / "on", go_on=True)
    on.put("do", "panics")
    on.go()
    assert steps(on)[-2:] == ["died 002", "finished"]
    assert ends.left() == on.left() == []


def test_last_words_are_those_that_were_not_there_before(image: Path, tmp_path: Path) -> None:
    found = begun(image, tmp_path)
    kept = found.root / "sys/fs/pstore"
    (kept / "dmesg-ramoops-0").write_text("Kernel panic - not syncing: of another day\n")
    found.put("do", "panics")
    found.boot()
    found.boot()
    moved = found.root / "var/lib/systemd/pstore/1"
    moved.mkdir(parents=True)
    (kept / "dmesg-ramoops-0").rename(moved / "dmesg-ramoops-0")
    (kept / "dmesg-ramoops-0").write_text("Kernel panic - not syncing: of this one\n")
    found.go()
    (told,) = unpack(found.folder)
    assert told.reason.endswith("measured: Kernel panic - not syncing: of this one")
    words = found.folder / "boots/001/last-words"
    assert words.read_text() == "Kernel panic - not syncing: of this one\n"


def test_a_runner_that_fails_leaves_no_measured_kernel_running(image: Path, tmp_path: Path) -> None:
    found = begun(image, tmp_path)
    found.put("do", "fails")
    found.go()
    assert steps(found)[-2:] == ["died 001", "stopped at"]
    assert found.left() == []
    assert unpack(found.folder)[0].reason == "the runner: kernsmith-runner: fails"


@pytest.mark.parametrize("at", ["own", "measured"])
def test_a_disk_that_is_full_leaves_no_measured_kernel_running(
    image: Path, tmp_path: Path, at: str
) -> None:
    found = begun(image, tmp_path)
    if at == "measured":
        found.boot()
    state, small = found.folder / "state", tmp_path / "small"
    kept = state.read_text()
    with full_disk(small) as disk:
        state.unlink()
        state.symlink_to(disk / "state")
        # What is written behind it is on a page of its own, for which there is no room.
        state.write_text(kept.ljust(4096, "\n"))
        (disk / "filled").write_bytes(bytes(4096))
        found.boot()
        assert (found.root / "pending").exists() == (at == "measured"), "a reboot"
        assert state.read_text().rstrip("\n") == kept.rstrip("\n")
        state.unlink()
    state.write_text(kept)
    found.go()
    assert found.left() == []
    assert steps(found)[-1] == ("finished" if at == "own" else "stopped at")


@contextmanager
def full_disk(place: Path) -> Iterator[Path]:
    """One with room for two pages, which the block fills."""
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=8k", "none", str(place)]
    if process.run(mount, timeout=60, check=False).returncode:
        pytest.skip("this user mounts nothing here")
    try:
        yield place
    finally:
        process.run(["umount", place], timeout=60)


def test_a_disk_that_has_become_full_begins_no_further_boot(image: Path, tmp_path: Path) -> None:
    found = begun(image, tmp_path)
    found.boot()
    found.boot()
    found.put("free", "60000")
    found.go()
    assert found.state()[-2:] == ["ended 001", "stopped: the disk is full"]
    assert found.left() == []
    found.put("free", "1000000")
    assert found.call("start")[0] == 0
    found.go()
    assert found.state()[-1] == "finished"


def test_a_kernel_that_is_refused_is_told(image: Path, tmp_path: Path) -> None:
    found = begun(image, tmp_path)
    (found.root / "refuses").touch()
    found.go()
    assert found.state()[1:] == [
        "refused 001 kexec: not an ELF file", "stopped at the first failure",
    ]  # fmt: skip
    assert found.left() == []


def test_a_loader_that_forgets_nothing_is_left_at_once(image: Path, tmp_path: Path) -> None:
    found = begun(image, tmp_path, enter="grub")
    (found.root / "keeps").touch()
    found.go()
    assert found.state()[-1] == "finished", "the measured kernel takes the entry away itself"
    assert found.left() == []


@pytest.mark.parametrize("ended", [True, False])
def test_an_entry_that_is_taken_twice_is_the_last(image: Path, tmp_path: Path, ended: bool) -> None:
    found = begun(image, tmp_path, enter="grub")
    found.boot()
    with (found.folder / "state").open("a") as state:
        state.write("2026-11-25T10:00:00 up 001 boot-1 7.3.4\n")
        if ended:
            state.write("2026-11-25T10:00:01 ended 001\n")
    found.go()
    end = ["again 001"] if ended else ["again 001", "died 001"]
    last = "stopped: the boot loader takes its entry again and again"
    assert found.state()[-len(end) - 1 :] == [*end, last]
    assert found.left() == []
    assert "kernsmith-runner run" not in found.log()


def test_a_boot_that_is_not_over_in_time_is_left(image: Path, tmp_path: Path) -> None:
    found = begun(image, tmp_path)
    found.boot()
    assert found.call("late") == (0, ""), "its own kernel is never left"
    assert not re.search(r"systemctl reboot|sleep [0-9]{3}", found.log())
    pending = found.root / "pending"
    found.put("proc/cmdline", pending.read_text())
    pending.unlink()
    found.call("late")
    # Two runs of 30 s each, a minute for the end of each, and ten for the boot.
    assert "sleep 780\n" in found.log()
    assert pending.exists(), "a reboot"
    assert (found.root / "proc/sysrq-trigger").read_text() == "b\n", "one that waits for nothing"
    unit = (found.root / "etc/systemd/system" / UNITS[1]).read_text()
    assert "ConditionKernelCommandLine=kernsmith.batch\n" in unit
    assert "IgnoreOnIsolate=yes\n" in unit


def test_who_switches_it_off_in_a_measured_kernel_may(image: Path, tmp_path: Path) -> None:
    found = begun(image, tmp_path)
    found.boot()
    found.put("proc/cmdline", (found.root / "pending").read_text())
    (found.root / "pending").unlink()
    found.put("running", "stopping")
    found.call("leave")
    assert not (found.root / "pending").exists()


def test_it_can_be_stopped(image: Path, tmp_path: Path) -> None:
    found = begun(image, tmp_path, enter="grub")
    found.boot()
    code, said = found.call("stop")
    assert (code, said) == (0, "")
    assert found.left() == []
    assert found.state()[-1] == "stopped by hand"
    assert found.call("stop") == (2, "kernsmith-batch: nothing is at work\n")


def test_who_stops_it_in_a_measured_kernel_is_told_that_it_reboots(
    image: Path, tmp_path: Path
) -> None:
    found = begun(image, tmp_path)
    found.boot()
    found.put("proc/cmdline", (found.root / "pending").read_text())
    assert found.call("stop") == (
        0, "kernsmith-batch: a measured kernel is running: this computer reboots out of it\n",
    )  # fmt: skip
    assert "systemctl --no-block stop kernsmith-batch.service" in found.log()


GRUB = "GRUB takes an entry again and again where it cannot write /boot/grub/grubenv: on "


@pytest.mark.parametrize(
    ("enter", "files", "sentence"),
    [
        ("kexec", {"user": "1000"}, "kernels are booted by root: sudo "),
        ("kexec", {"architecture": "aarch64"}, "this computer is of the architecture aarch64; the"),
        ("kexec", {"proc/cmdline": "ro kernsmith.batch=1/1"}, "a measured kernel is running: reb"),
        ("kexec", {"device": "2"}, "DISK/batch is not on the disk that / is on: copy the folder"),
        ("kexec", {"damaged": ""}, "the folder is damaged: sha256sum -c checksums says where"),
        ("kexec", {"free": "65536"}, "the disk is full: DISK/batch needs 64 MiB, and 64 are free"),
        (
            "kexec", {"sys/kernel/security/lockdown": "none [integrity] confidentiality"},
            "its kernel is locked down, which secure boot does: it loads no kernel that its maker",
        ),
        (
            "kexec", {"proc/sys/kernel/kexec_load_disabled": "1"},
            "kernel.kexec_load_disabled is 1, which stays until the next reboot",
        ),
        (
            "kexec", {f"etc/systemd/system/{UNITS[0]}": "ExecStart=/other/kernsmith-batch step"},
            "another batch is at work (/other/kernsmith-batch step): stop it first",
        ),
        ("grub", {"boot/grub/grub.cfg": "menuentry"}, "DISK/boot/grub/grub.cfg reads neither next"),
        ("grub", {"fs": "btrfs"}, f"{GRUB}btrfs it cannot; say enter = \"kexec\""),
        ("grub", {"fs": "zfs"}, f"{GRUB}zfs it cannot"),
        ("grub", {"abstraction": "lvm"}, f"{GRUB}ext2 lvm it cannot"),
        ("grub", {"abstraction": "diskfilter mdraid1x"}, f"{GRUB}ext2 diskfilter mdraid1x it can"),
        (
            "grub", {"sys/firmware/efi/efivars/SecureBoot-8be4df61": "\x06\0\0\0\x01"},
            "secure boot is on: GRUB boots no kernel that nobody has signed; turn it off in ",
        ),
    ],
)  # fmt: skip
def test_a_computer_that_cannot_is_told_in_a_sentence(
    image: Path, tmp_path: Path, enter: str, files: dict[str, str], sentence: str
) -> None:
    found = computer(image, tmp_path, enter=enter)
    for name, text in files.items():
        (found.root / name).parent.mkdir(parents=True, exist_ok=True)
        found.put(name, text)
    code, said = found.call("start")
    said = said.replace(str(found.root), "DISK").replace(
        "DISK/boot/grub/grubenv", "/boot/grub/grubenv"
    )
    assert (code, said[: len(sentence) + 17]) == (2, f"kernsmith-batch: {sentence}")
    assert said.count("\n") == 1
    assert not (found.folder / "state").exists()


@pytest.mark.parametrize(
    ("enter", "program", "sentence"),
    [
        ("kexec", "kexec", 'there is no kexec program: install kexec-tools, or say enter = "grub"'),
        ("grub", "grub-reboot", "there is no grub-reboot: is GRUB its boot loader?"),
    ],
)
def test_a_program_that_is_missing_is_told(
    image: Path, tmp_path: Path, enter: str, program: str, sentence: str
) -> None:
    if any(Path(place, program).exists() for place in ("/sbin", "/usr/sbin")):
        pytest.skip(f"{program} is installed here")
    found = computer(image, tmp_path, enter=enter)
    (found.root / "bin" / program).unlink()
    assert found.call("start") == (2, f"kernsmith-batch: {sentence}\n")


def test_secure_boot_that_is_off_is_in_nobodys_way(image: Path, tmp_path: Path) -> None:
    found = computer(image, tmp_path, enter="grub")
    variables = found.root / "sys/firmware/efi/efivars"
    variables.mkdir(parents=True)
    (variables / "SecureBoot-8be4df61").write_bytes(b"\x06\0\0\0\0")
    assert found.call("start")[0] == 0
    assert found.cmdline() == OWN
