# SPDX-License-Identifier: GPL-2.0-or-later
"""A folder that a computer goes through: what is in it, and what is read from one that came back.

The kernels are an ELF file with a build id; what boots them is in test_self_target.py.
"""

from __future__ import annotations

import os
from dataclasses import replace
from errno import ETIMEDOUT
from pathlib import Path

import pytest

from kernsmith import process
from kernsmith.errors import UserError
from kernsmith.guest.workloads import load_catalogue
from kernsmith.machine import Job, find_machine
from kernsmith.machine.batch import checked_line
from kernsmith.machine.remote.folder import finished, last_step, unpack
from kernsmith.machine.remote.look import runner_program
from kernsmith.machine.running import running_kernel
from kernsmith.machine.self import Itself


def machine(**settings: object) -> Itself:
    found = find_machine("self", "", {"host": "lab", "runs": 2, "processor": -1, **settings})
    assert isinstance(found, Itself)
    return found


def jobs(*names: str) -> list[Job]:
    known = {each.name: each for each in load_catalogue()}
    return [
        Job(replace(known[name], rounds=20, warmup=1), Path(), name=f"trial-{name}-{number}")
        for number, name in enumerate(names)
    ]


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """An ELF file that has the build id of the kernel that runs here, so that the runner takes it
    for this one."""
    target = tmp_path / "vmlinux"
    source = tmp_path / "start.s"
    source.write_text(".globl _start\n_start: ret\n")
    identity = f"-Wl,--build-id=0x{running_kernel().build_id}"
    process.run(["gcc", "-nostdlib", "-static", identity, "-o", target, source], timeout=60)
    return target


@pytest.fixture
def folder(image: Path, tmp_path: Path) -> Path:
    place = tmp_path / "batch"
    visits = [(image, jobs("pipe", "select")), (image, jobs("fork"))]
    machine().pack(visits, place)
    return place


def state(folder: Path, *steps: str) -> None:
    with (folder / "state").open("a") as file:
        file.writelines(f"2026-11-25T10:00:{n:02} {step}\n" for n, step in enumerate(steps))


def run_here(folder: Path, number: str) -> None:
    process.run([runner_program(), "run", folder / "boots" / number], timeout=120)


def test_a_folder_has_each_kernel_once_and_a_plan_for_each_boot(folder: Path) -> None:
    assert len(list((folder / "kernels").iterdir())) == 1
    assert sorted(path.name for path in (folder / "boots").iterdir()) == ["001", "002"]
    assert (folder / "boots/001/plan").read_text().count(" trial ") == 2
    process.run(["sha256sum", "--quiet", "-c", "checksums"], cwd=folder, timeout=60)
    process.run(["sh", "-n", folder / "kernsmith-batch"], timeout=60)
    assert os.access(folder / "kernsmith-batch", os.X_OK)


def test_what_was_measured_is_read_and_what_was_not_begun_is_not(folder: Path) -> None:
    assert last_step(folder) == ""
    assert list(machine().unpack(folder)) == []
    run_here(folder, "001")
    state(folder, "started", "entering 001 1764064800", "up 001 boot 7.3.4", "ended 001")
    found = dict(machine().unpack(folder))
    assert [(name, each.status) for name, each in found.items()] == [
        ("trial-pipe-0", "ok"), ("trial-select-1", "ok"),
    ]  # fmt: skip
    pipe = found["trial-pipe-0"]
    assert pipe.metrics["reference_cycles"][0] > 0
    assert pipe.boot.status == "ok"
    assert pipe.boot.wall_seconds == 2.0
    assert not finished(folder)


def test_a_kernel_that_died_is_a_panic_with_its_last_words(folder: Path) -> None:
    run_here(folder, "001")
    results = folder / "boots/001/results"
    text = results.read_text().splitlines(keepends=True)
    begun = next(i for i, line in enumerate(text) if " begin trial-select-1 0 " in line)
    results.write_text("".join(text[: begun + 1]))
    words = folder / "boots/001/last-words"
    words.write_text("<6>x\n<0>Kernel panic - not syncing: sysrq triggered crash\n")
    state(folder, "entering 001 1764064800", "up 001 boot 7.3.4", "died 001")
    found = dict(machine().unpack(folder))
    assert found["trial-pipe-0"].ok, "what was done before counts"
    died = found["trial-select-1"]
    assert (died.status, died.metrics) == ("panic", {})
    assert "the machine restarted while it measured" in died.reason
    assert "sysrq triggered crash" in died.reason
    words.unlink()
    (found,) = [each for name, each in machine().unpack(folder) if name == "trial-select-1"]
    assert found.reason.endswith("as after a panic; nothing kept its last words")


def test_a_workload_that_stayed_in_the_kernel_is_a_hang(folder: Path) -> None:
    lines = (
        "begin trial-pipe-0 0 b 0 0",
        f"end trial-pipe-0 0 {ETIMEDOUT} 9 9 stays in the kernel",
    )
    (folder / "boots/001/results").write_text("".join(map(checked_line, lines)))
    state(folder, "entering 001", "up 001 boot 7.3.4")
    assert dict(machine().unpack(folder)) == {}, "it has not come back yet"
    state(folder, "died 001")
    (found,) = dict(machine().unpack(folder)).values()
    assert (found.status, found.reason) == (
        "hang", "the workload was killed and stayed in the kernel",
    )  # fmt: skip


def test_a_kernel_that_is_refused_or_never_came_up_is_told(folder: Path) -> None:
    state(folder, "refused 001 kexec: not an ELF file", "entering 002 1764064800", "died 002")
    first, second = unpack(folder)
    assert (first.status, first.reason) == (
        "failed", "the kernel cannot be booted: kexec: not an ELF file",
    )  # fmt: skip
    assert second.status == "panic"
    assert second.reason.startswith("the kernel did not come up")
    assert finished(folder)


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is no folder of kernsmith batch"):
        unpack(tmp_path)


def test_a_boot_entry_takes_no_random_layout(image: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="takes kernels in their default layout alone"):
        machine(enter="grub").pack([(image, jobs("pipe"))], tmp_path / "grub")


def start(folder: Path) -> process.Completed:
    return process.run([folder / "kernsmith-batch", "start"], timeout=60, check=False)


@pytest.mark.skipif(
    Path("/run/systemd/system").is_dir(), reason="systemd is here: it would begin, really"
)
def test_a_computer_that_cannot_is_told_why(folder: Path) -> None:
    ended = start(folder)
    assert ended.returncode == 2
    assert ended.output.startswith("kernsmith-batch: ")
    assert not (folder / "state").exists()
    asked = process.run([folder / "kernsmith-batch", "status"], timeout=60)
    assert asked.output == "not started\n"


def test_its_words_are_told(folder: Path) -> None:
    told = process.run([folder / "kernsmith-batch"], timeout=60, check=False)
    assert told.returncode == 2
    words = [line.split()[:2] for line in told.output.splitlines()]
    assert words == [
        ["./kernsmith-batch", word] for word in ("start", "status", "stop", "step", "late", "leave")
    ]


def test_no_session_is_opened(image: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="kernsmith resume"):
        machine().open(image, tmp_path)


def test_a_folder_of_another_computer_is_refused(folder: Path, tmp_path: Path) -> None:
    run_here(folder, "001")
    state(folder, "entering 001 1764064800", "ended 001")
    boot = "/proc/sys/kernel/random/boot_id"
    (folder / "own").write_text(f"{boot} 1\nb\n/etc/machine-id 1\nx\n")
    mine = find_machine("self", "", {"enter": "grub"})
    assert isinstance(mine, Itself)
    with pytest.raises(UserError, match="was gone through by another computer"):
        list(mine.unpack(folder))
    assert list(machine().unpack(folder)), "a named one may be any"


def test_settings_that_mean_nothing_are_told() -> None:
    with pytest.raises(UserError, match=r"machine.settings.enter: .*'kexec' or 'grub'"):
        find_machine("self", "", {"enter": "efi"})
