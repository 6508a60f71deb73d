# SPDX-License-Identifier: GPL-2.0-or-later
"""Snapshots: what is parted, what one is named by, and that runs are exact."""

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from kernels import kept_kernel
from kernsmith import paths, process
from kernsmith.guest.initramfs import Member, build_initramfs, closed, taken_out
from kernsmith.guest.own import read_own_workload
from kernsmith.guest.workloads import (
    Workload,
    guest_program,
    held_program,
    held_programs,
    load_catalogue,
    suite_programs,
)
from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.recipe import make_recipe
from kernsmith.kernel.source import Source
from kernsmith.machine import Job, Outcome, run_once, snapshot
from kernsmith.machine.debugger import connected_debugger
from kernsmith.machine.snapshot import (
    HOLD,
    TOLD_BYTES,
    WORKLOAD_BYTES,
    NoSnapshot,
    PartedGuest,
    Snapshot,
)
from kernsmith.machine.tcg import Table, Tcg, open_machine
from kernsmith.study import Study, plan_variants
from kernsmith.threads import threads

CPU = "skylake"
TABLE = """\
name = "reader"
program = "busybox"
arguments = ["md5sum", "lines"]
set_up = ["busybox", "cp", "lines", "/tmp/lines"]
files = ["lines"]
rounds = 3

[root]
image = "tree"

[check]
output = "told"
"""


def machine(*, snapshots: bool = True) -> Tcg:
    return open_machine(CPU, Table.model_validate({"snapshots": snapshots}))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A workload of a small root."""
    folder = tmp_path / "reader"
    (folder / "tree/usr/bin").mkdir(parents=True)
    shutil.copy("/bin/busybox", folder / "tree/usr/bin/busybox")
    (folder / "lines").write_text("as it was\n")
    (folder / "told").write_text("f26332e3f631392304b6f910969b5b7f  lines\n")
    path = folder / "reader.toml"
    path.write_text(TABLE)
    return path


def other(file: Path) -> Path:
    """Another workload of the same root: other words, another set-up, other rounds."""
    path = file.with_name("other.toml")
    text = TABLE.replace('"reader"', '"other"').replace('"md5sum", "lines"', '"wc", "lines"')
    path.write_text(
        text.replace("rounds = 3", "rounds = 2").replace('output = "told"', "status = 0")
    )
    return path


def parted(workload: Workload) -> PartedGuest:
    found = machine().parted_guest(Job(workload, Path()))
    assert found is not None
    return found


def short(name: str, rounds: int = 20) -> Workload:
    """One of the catalogue's."""
    (work,) = load_catalogue().select([name])
    return replace(work, rounds=rounds, warmup=2)


def listed(archive: bytes) -> list[str]:
    """The names in an archive, as cpio tells them."""
    return process.run(["cpio", "--list", "--quiet"], timeout=30, input=archive).output.split()


def test_what_is_taken_out_and_closed_again_is_what_it_was() -> None:
    members = [Member("workload"), Member("workload/a", b"123"), Member("root/type", b"ext4")]
    archive = build_initramfs(Path("/bin/true"), members)
    rest, inside = taken_out(archive, "workload")
    assert b"workload/a\0" not in rest and b"root/type\0" in rest and b"workload\0" in rest
    assert b"123" in inside and b"ext4" not in inside
    again, nothing = taken_out(closed(rest + inside), "other")
    assert again == rest + inside and nothing == b""
    with pytest.raises(ValueError, match="no archive"):
        taken_out(b"070701", "workload")


def test_a_boot_is_of_all_workloads_of_a_root(file: Path) -> None:
    one, two = (parted(read_own_workload(each)) for each in (file, other(file)))
    assert one.initramfs == two.initramfs
    assert one.hold == two.hold == HOLD and one.told is two.told is None
    assert one.disk != two.disk
    assert len(one.disk) == len(two.disk) == WORKLOAD_BYTES
    assert "workload/lines" in listed(one.disk) and "workload/lines" not in listed(one.initramfs)
    assert listed(one.disk)[-1] == "run", "which is behind all that it needs"
    assert b"reader 3 1\n" in one.disk and b"as it was\n" in one.disk
    assert b"as it was\n" not in one.initramfs
    (file.parent / "tree/more").write_text("x")
    assert parted(read_own_workload(file)).initramfs != one.initramfs


def test_a_boot_is_of_all_workloads_of_a_program() -> None:
    one, two, other = map(parted, (short("pipe"), short("file", 30), short("lmbench-select")))
    assert one.initramfs == two.initramfs != other.initramfs
    assert one.hold == two.hold != 0 and one.disk == two.disk == b""
    assert one.told and two.told and one.told.address == two.told.address
    assert one.told.words.rstrip(b"\0") == b"pipe 20 2\n"
    assert two.told.words.rstrip(b"\0") == b"file 30 2\n"
    assert len(one.told.words) == len(two.told.words) == TOLD_BYTES
    assert held_program(short("lmbench-select")).read_bytes() in other.initramfs


def test_each_guest_program_has_one_that_is_told_later() -> None:
    named = [program.name for program in (guest_program(), *suite_programs())]
    assert [program.name for program in held_programs()] == named


def test_of_some_boots_there_is_none(file: Path) -> None:
    reader = read_own_workload(file)

    def none(workload: Workload, snapshots: bool = True, modules: Path | None = None) -> bool:
        job = Job(workload, file.parent, modules=modules)
        return machine(snapshots=snapshots).parted_guest(job) is None

    assert none(reader, snapshots=False) and none(short("pipe"), snapshots=False)
    assert none(replace(reader, vcpus=2)) and none(short("cpu-pipe"))
    assert none(short("pipe"), modules=file), "what they were loaded to is said while it boots"
    (file.parent / "lines").write_bytes(bytes(WORKLOAD_BYTES))
    assert none(read_own_workload(file)), "it is too large"
    (file.parent / "lines").write_bytes(b"short")
    text = file.read_text().replace('[root]\nimage = "tree"\n', "")
    shutil.copy("/bin/busybox", file.parent)
    file.write_text(text.replace('set_up = ["busybox", "cp", "lines", "/tmp/lines"]\n', ""))
    assert none(read_own_workload(file)), "it has files and no disk"


def test_it_is_a_choice_that_runs_are_named_by() -> None:
    usual, other = machine(snapshots=False).fingerprint(), machine().fingerprint()
    assert "snapshots" not in usual
    assert {name: value for name, value in other.items() if name != "snapshots"} == usual


def test_the_disk_ends_with_the_workload(file: Path, tmp_path: Path) -> None:
    reader = read_own_workload(file)
    assert reader.root is not None
    size = reader.root.stat().st_size
    job = Job(reader, tmp_path)
    behind = tmp_path / "work"
    words = machine().command(Path("vmlinux"), job, Path("cpio"), {}, behind, told_later=True)
    told = words[words.index("-append") + 1]
    assert f"phram.phram=root,0x100000000,{size + WORKLOAD_BYTES:#x}" in told
    assert "kernsmith.workload" not in told
    backends = [word for word in words if word.startswith("memory-backend-file,")]
    assert all(word.endswith("share=on,readonly=on") for word in backends)
    places = [word for word in words if word.startswith("pc-dimm,")]
    assert places[1].endswith(f"addr={(1 << 32) + size:#x}")


@pytest.fixture(scope="module")
def kernel(source: Source) -> Kernel:
    study = Study(source="debian:7.3", config="root", factors=(("profile", ("none",)),))
    return kept_kernel(make_recipe(plan_variants(study, ())[0], source))


@pytest.fixture
def snapshots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where they are here; there are none yet."""
    monkeypatch.setattr(paths, "snapshots", lambda: tmp_path / "snapshots")
    return tmp_path / "snapshots"


def ran(work: Path | Workload, kernel: Kernel, folder: Path) -> Outcome:
    workload = work if isinstance(work, Workload) else read_own_workload(work)
    return run_once(machine(), kernel.vmlinux, Job(workload, folder, profile=True))


def counted(outcome: Outcome) -> bytes:
    assert outcome.ok, outcome.reason
    assert outcome.counts is not None
    return outcome.counts.with_name("counters.json").read_bytes() + outcome.counts.read_bytes()


@pytest.mark.kernel
@pytest.mark.xdist_group("root")
def test_all_that_goes_on_from_one_is_exact_wherever_it_was_taken(
    file: Path, kernel: Kernel, snapshots: Path, tmp_path: Path
) -> None:
    first = ran(file, kernel, tmp_path / "first")
    (taken,) = snapshots.iterdir()
    memory = (taken / "memory").stat().st_ino
    again = ran(file, kernel, tmp_path / "again")
    assert (taken / "memory").stat().st_ino == memory, "it is the one that was taken before"
    assert counted(again) == counted(first)
    elsewhere = ran(other(file), kernel, tmp_path / "elsewhere")
    assert list(snapshots.iterdir()) == [taken], "another workload goes on from it"
    assert counted(elsewhere) != counted(first)
    shutil.rmtree(taken)
    assert counted(ran(file, kernel, tmp_path / "anew")) == counted(first)


@pytest.mark.kernel
def test_so_are_workloads_of_the_catalogue(
    micro_kernel: Kernel, snapshots: Path, tmp_path: Path
) -> None:
    first = ran(short("pipe"), micro_kernel, tmp_path / "first")
    (taken,) = snapshots.iterdir()
    assert counted(ran(short("pipe"), micro_kernel, tmp_path / "again")) == counted(first)
    other, more = short("fork"), short("pipe", 40)
    ran_other, ran_more = (
        ran(work, micro_kernel, tmp_path / name) for work, name in ((other, "fork"), (more, "more"))
    )
    assert list(snapshots.iterdir()) == [taken], "all of a program go on from it"
    assert "kernsmith: end fork status=0" in ran_other.console.read_text()
    done = first.metrics["kernel_instructions"][0]
    assert 1.7 * done < ran_more.metrics["kernel_instructions"][0] < 2.3 * done
    shutil.rmtree(taken)
    assert counted(ran(short("pipe"), micro_kernel, tmp_path / "anew")) == counted(first)


@pytest.mark.kernel
def test_no_timer_of_the_host_breaks_blocks_off(
    micro_kernel: Kernel, snapshots: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = Tcg.command
    often = {"initial": 4, "step": 1, "max": 4, "rounds": 1000}
    announced = [f"migration.announce-{name}={value}" for name, value in often.items()]
    words = [word for each in announced for word in ("-global", each)]
    first = ran(short("pipe", 1000), micro_kernel, tmp_path / "first")
    # Four seconds long, as a busy host may be at it when QEMU announces guests by itself.
    monkeypatch.setattr(Tcg, "command", lambda *asked, **told: [*usual(*asked, **told), *words])
    assert counted(ran(short("pipe", 1000), micro_kernel, tmp_path / "often")) == counted(first)


@pytest.mark.kernel
def test_what_they_count_is_nearly_what_a_guest_counts_that_booted_for_them(
    micro_kernel: Kernel, snapshots: Path, tmp_path: Path
) -> None:
    work = short("fork", 200)
    usual = run_once(machine(snapshots=False), micro_kernel.vmlinux, Job(work, tmp_path / "usual"))
    later = ran(work, micro_kernel, tmp_path / "later")
    booted, gone_on = (each.metrics["kernel_instructions"][0] for each in (usual, later))
    assert abs(gone_on / booted - 1) < 0.002, "the program has no pages that the other has not"


@pytest.mark.kernel
def test_words_that_nobody_knows_are_told(
    micro_kernel: Kernel, snapshots: Path, tmp_path: Path
) -> None:
    unknown = replace(short("pipe"), name="nobody")
    assert "unknown workload" in ran(unknown, micro_kernel, tmp_path / "nobody").reason


@pytest.mark.kernel
@pytest.mark.xdist_group("root")
def test_it_is_what_a_guest_gives_that_is_stopped_and_goes_on_where_it_is(
    file: Path, kernel: Kernel, snapshots: Path, tmp_path: Path
) -> None:
    taken = ran(file, kernel, tmp_path / "taken")
    here = tmp_path / "here"
    here.mkdir()
    shutil.copy(tmp_path / "taken/workload.disk", here)
    line = tmp_path / "line"
    command = [word.replace(f"{tmp_path}/taken/", f"{here}/") for word in taken.boot.command]
    command += ["-S", "-gdb", f"unix:{line},server=on,wait=off"]
    with threads(1) as pool:
        qemu = pool.submit(process.run, command, log=here / "console.log", timeout=300)
        with connected_debugger(line) as debugger:
            debugger.stop_at(HOLD, 300)
            assert debugger.ask("D") == "OK"
        qemu.result()
    for name in ("counters.json", "branches.counts"):
        assert (here / name).read_bytes() == (tmp_path / "taken" / name).read_bytes()


@pytest.mark.kernel
@pytest.mark.xdist_group("root")
def test_what_fails_says_why_and_leaves_none(
    file: Path, kernel: Kernel, snapshots: Path, tmp_path: Path
) -> None:
    (file.parent / "broken").write_bytes(b"hsqs" + bytes(4096))
    file.write_text(TABLE.replace('"tree"', '"broken"'))
    outcome = ran(file, kernel, tmp_path / "broken")
    assert "no root file system: mount of the image, squashfs: " in outcome.reason
    assert not list(snapshots.glob("*/memory"))
    file.write_text(TABLE.replace('"md5sum", "lines"', '"md5sum", "nothing"'))
    outcome = ran(file, kernel, tmp_path / "failed")
    assert "the program ended with status 1, not 0" in outcome.reason


@pytest.mark.kernel
@pytest.mark.parametrize("left", ["nothing of it", "zeroes of its size"])
def test_a_snapshot_that_was_damaged_is_taken_anew(
    micro_kernel: Kernel, snapshots: Path, tmp_path: Path, left: str
) -> None:
    first = ran(short("pipe"), micro_kernel, tmp_path / "first")
    (memory,) = snapshots.glob("*/memory")
    size = memory.stat().st_size
    os.truncate(memory, 0)
    if left != "nothing of it":
        os.truncate(memory, size)
    assert counted(ran(short("pipe"), micro_kernel, tmp_path / "again")) == counted(first)


class Taking:
    """QEMU's two parts in snapshots: one writes how often it was asked, the other reads it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, unread: tuple[str, ...] = ()) -> None:
        self.taken = 0

        def boot(
            self_: Snapshot, command: list[str], hold: int, memory: Path, *more: object
        ) -> None:
            self.taken += 1
            memory.write_text(f"guest {self.taken}")

        def go_on(self_: Snapshot, *asked: object) -> float:
            if (text := self_.memory.read_text()) in unread:
                raise NoSnapshot(f"{text} is damaged", unread=True)
            return 1.0

        monkeypatch.setattr(Snapshot, "_boot", boot)
        monkeypatch.setattr(Snapshot, "go_on", go_on)

    def run(self, folder: Path) -> None:
        guest = PartedGuest(b"", HOLD)
        snapshot.run(["qemu", "-plugin"], guest, None, {}, folder / "console.log", 9.0)


@pytest.mark.parametrize("text", [None, "", "guest", "guest 1 and more"])
def test_a_snapshot_of_another_size_is_taken_anew(
    text: str | None, tmp_path: Path, snapshots: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taking = Taking(monkeypatch)
    for _ in range(2):
        taking.run(tmp_path)
    assert taking.taken == 1
    (memory,) = snapshots.glob("*/memory")
    memory.unlink() if text is None else memory.write_text(text)
    for _ in range(2):
        taking.run(tmp_path)
    assert taking.taken == 2 and memory.read_text() == "guest 2"


def test_a_snapshot_that_qemu_does_not_read_is_taken_once_more(
    tmp_path: Path, snapshots: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taking = Taking(monkeypatch, unread=("guest 1",))
    taking.run(tmp_path)
    assert taking.taken == 2
    taking = Taking(monkeypatch, unread=("guest 1", "guest 2"))
    shutil.rmtree(snapshots)
    with pytest.raises(NoSnapshot, match="guest 2 is damaged"):
        taking.run(tmp_path)
    assert taking.taken == 2
