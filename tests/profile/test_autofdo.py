# SPDX-License-Identifier: GPL-2.0-or-later
"""A real kernel's exact counts become an AutoFDO profile; foreign and corrupt ones are refused."""

from dataclasses import replace
from pathlib import Path

import pytest

from kernsmith.errors import UserError
from kernsmith.guest.workloads import load_catalogue
from kernsmith.kernel.artifact import Kernel, file_digest
from kernsmith.kernel.toolchain import find_toolchain
from kernsmith.machine import Job, run_once
from kernsmith.machine.tcg import open_machine
from kernsmith.process import run
from kernsmith.profile import BranchCounts, write_counts
from kernsmith.profile import idle as objects_idle
from kernsmith.profile.autofdo import MAKER, make_autofdo, usable_profile
from kernsmith.profile.carried import carry
from kernsmith.profile.counts import read_body
from kernsmith.profile.idle import WHOLE, idle_objects
from kernsmith.profile.lines import read_profile, write_profile
from kernsmith.profile.staleness import read_both

pytestmark = pytest.mark.kernel
CLANG = find_toolchain()


@pytest.fixture(scope="module")
def counts(micro_kernel: Kernel, tmp_path_factory: pytest.TempPathFactory) -> BranchCounts:
    pipe = load_catalogue().select(["pipe"])[0]
    folder = tmp_path_factory.mktemp("boot")
    outcome = run_once(
        open_machine("skylake"), micro_kernel.vmlinux, Job(pipe, folder, profile=True)
    )
    assert outcome.counts is not None, outcome.reason
    raw = read_body(outcome.counts.read_text().splitlines(), origin=outcome.counts)
    return replace(raw, build_id=micro_kernel.build_id, workloads=("pipe",))


@pytest.fixture(scope="module")
def profile(
    counts: BranchCounts, micro_kernel: Kernel, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    target = tmp_path_factory.mktemp("profile") / "pipe.afdo"
    return make_autofdo(counts, micro_kernel, CLANG, target)


def test_the_profile_knows_the_functions_that_ran(profile: Path) -> None:
    shown = run([CLANG.tool("llvm-profdata"), "show", "--sample", profile], timeout=60).output
    for function in ("anon_pipe_read", "anon_pipe_write", "vfs_read", "__schedule"):
        assert f"Function: {function}:" in shown
    assert "Function: ext4_" not in shown


def test_counts_are_taken_with_their_build_id_only(
    counts: BranchCounts, profile: Path, micro_kernel: Kernel, tmp_path: Path
) -> None:
    path = tmp_path / "mine.counts"
    write_counts(counts, path)
    made, _ = MAKER.usable((path,), micro_kernel, CLANG, tmp_path / "made")
    assert file_digest(made) == file_digest(profile)

    write_counts(replace(counts, build_id="00" * 20), path)
    with pytest.raises(UserError, match="of another kernel: its build id is 0000"):
        MAKER.usable((path,), micro_kernel, CLANG, tmp_path / "made")


def test_an_autofdo_profile_is_taken_as_it_is(
    profile: Path, micro_kernel: Kernel, tmp_path: Path
) -> None:
    files = MAKER.usable((profile,), micro_kernel, CLANG, tmp_path / "made")
    assert files[0] == profile
    # It says nothing of most objects: these are as without a profile.
    idle = files[1].read_text().split()
    assert idle == sorted(set(idle))
    assert {"fs/pipe.o", "kernel/sched/core.o"}.isdisjoint(idle)
    assert {"ipc/mqueue.o", "net/ipv4/tcp_input.o"} <= set(idle)


def test_a_profile_of_the_same_kernel_has_nothing_to_carry(
    profile: Path, micro_kernel: Kernel, tmp_path: Path
) -> None:
    counts, kernel = read_both(profile, micro_kernel.vmlinux, CLANG)
    carried = carry(counts, kernel)
    assert carried.profile == counts
    assert carried.found == carried.before > 0.99
    again = write_profile(counts, CLANG, tmp_path / "again.afdo")
    assert read_profile(again, CLANG) == counts


def test_objects_of_which_nothing_ran_are_idle(counts: BranchCounts, micro_kernel: Kernel) -> None:
    idle = idle_objects(counts, micro_kernel, CLANG)
    assert idle == sorted(set(idle))
    assert {"fs/pipe.o", "kernel/sched/core.o", "arch/x86/entry/entry_64.o"}.isdisjoint(idle)
    assert {"ipc/mqueue.o", "net/ipv4/tcp_input.o", "crypto/camellia_generic.o"} <= set(idle)
    assert all((micro_kernel.output / name).exists() for name in idle)
    everything = idle_objects(replace(counts, ranges={}), micro_kernel, CLANG)
    assert set(everything) > set(idle)
    assert 500 < len(idle) < len(everything) - 30


def test_objects_are_told_by_their_functions_where_the_linker_sees_one(
    counts: BranchCounts, micro_kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where objtool looks at the whole kernel before it is linked: Debian's for clouds."""
    exact = set(idle_objects(counts, micro_kernel, CLANG))
    monkeypatch.setattr(objects_idle, "input_sections", lambda link_map: [(0, 1, WHOLE)])
    by_name = set(idle_objects(counts, micro_kernel, CLANG))
    assert by_name <= exact
    assert len(by_name) > 0.95 * len(exact)
    nothing = idle_objects(replace(counts, ranges={}), micro_kernel, CLANG)
    assert {"fs/pipe.o", "kernel/sched/core.o"} <= set(nothing)


@pytest.mark.parametrize("damage", ["empty", "noise", "cut"])
def test_corrupt_profiles_are_one_sentence(
    profile: Path, micro_kernel: Kernel, tmp_path: Path, damage: str
) -> None:
    whole = profile.read_bytes()
    content = {"empty": b"", "noise": bytes(range(256)) * 8, "cut": whole[: len(whole) // 3]}
    path = tmp_path / "corrupt.afdo"
    path.write_bytes(content[damage])
    with pytest.raises(UserError, match="not a usable AutoFDO profile") as caught:
        usable_profile(path, CLANG)
    assert "\n" not in str(caught.value)


def test_a_profile_that_covers_nothing_is_refused(
    counts: BranchCounts, micro_kernel: Kernel, tmp_path: Path
) -> None:
    outside = replace(counts, ranges={(0x1000, 0x1010): 5}, branches={})
    zeros = replace(counts, ranges=dict.fromkeys(counts.ranges, 0), branches={})
    for nothing in (outside, zeros):
        with pytest.raises(UserError, match="covers nothing"):
            make_autofdo(nothing, micro_kernel, CLANG, tmp_path / "x.afdo")
