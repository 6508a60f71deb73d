# SPDX-License-Identifier: GPL-2.0-or-later
"""Snapshots: what is parted, what one is named by, and that runs are exact."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from kernels import kept_kernel
from kernsmith import paths, process
from kernsmith.guest.initramfs import Member, build_initramfs, closed, taken_out
from kernsmith.guest.own import read_own_workload
from kernsmith.guest.workloads import Workload, load_catalogue
from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.recipe import make_recipe
from kernsmith.kernel.source import Source
from kernsmith.machine import Job, Outcome, run_once
from kernsmith.machine.debugger import connected_debugger
from kernsmith.machine.snapshot import HOLD, WORKLOAD_BYTES, PartedGuest, parted_guest
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
    found = parted_guest(workload)
    assert found is not None
    return found


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
    assert one.workload != two.workload
    assert len(one.workload) == len(two.workload) == WORKLOAD_BYTES
    assert "workload/lines" in listed(one.workload) and "workload/lines" not in listed(
        one.initramfs
    )
    assert listed(one.workload)[-1] == "run", "which is behind all that it needs"
    assert b"reader 3 1\n" in one.workload and b"as it was\n" in one.workload
    assert b"as it was\n" not in one.initramfs
    (file.parent / "tree/more").write_text("x")
    assert parted(read_own_workload(file)).initramfs != one.initramfs


def test_of_some_boots_there_is_none(file: Path) -> None:
    reader = read_own_workload(file)
    (pipe,) = load_catalogue().select(["pipe"])
    assert parted_guest(pipe) is None, "it has no root"
    assert parted_guest(replace(reader, vcpus=2)) is None
    assert machine(snapshots=False).parted_guest(Job(reader, file.parent)) is None
    (file.parent / "lines").write_bytes(bytes(WORKLOAD_BYTES))
    assert parted_guest(read_own_workload(file)) is None, "it is too large"


def test_it_is_a_choice_that_runs_are_named_by() -> None:
    usual, other = machine(snapshots=False).fingerprint(), machine().fingerprint()
    assert "snapshots" not in usual
    assert {name: value for name, value in other.items() if name != "snapshots"} == usual


def test_the_disk_ends_with_the_workload(file: Path, tmp_path: Path) -> None:
    reader = read_own_workload(file)
    assert reader.root is not None
    size = reader.root.stat().st_size
    job = Job(reader, tmp_path)
    words = machine().command(Path("vmlinux"), job, Path("cpio"), {}, tmp_path / "work")
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


def ran(file: Path, kernel: Kernel, folder: Path) -> Outcome:
    job = Job(read_own_workload(file), folder, profile=True)
    return run_once(machine(), kernel.vmlinux, job)


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
    memory = (taken / "memory").stat()
    again = ran(file, kernel, tmp_path / "again")
    assert (taken / "memory").stat() == memory, "it is the one that was taken before"
    assert counted(again) == counted(first)
    elsewhere = ran(other(file), kernel, tmp_path / "elsewhere")
    assert list(snapshots.iterdir()) == [taken], "another workload goes on from it"
    assert counted(elsewhere) != counted(first)
    shutil.rmtree(taken)
    assert counted(ran(file, kernel, tmp_path / "anew")) == counted(first)


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
