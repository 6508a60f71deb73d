# SPDX-License-Identifier: GPL-2.0-or-later
"""A program of the silicon bench that is compiled with AutoFDO: trained in the tcg machine."""

from __future__ import annotations

import pytest

from kernsmith.errors import UserError
from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.toolchain import default_compiler, find_compiler
from kernsmith.machine.tcg import open_machine
from kernsmith.process import run
from kernsmith.profile.counts import BranchCounts
from kernsmith.silicon.binaries import DEFAULT, Binary, link_layouts
from kernsmith.silicon.builds import find_builds
from kernsmith.silicon.profiles import compile_build
from kernsmith.silicon.programs import find_program
from kernsmith.silicon.simulation import branch_counts
from kernsmith.silicon.timing import time_binaries

pytestmark = pytest.mark.kernel


def test_a_program_trains_in_the_machine_and_does_the_same_work(micro_kernel: Kernel) -> None:
    trained: list[BranchCounts] = []

    def train(binary: Binary) -> BranchCounts:
        counts = branch_counts(open_machine("skylake"), micro_kernel.vmlinux, binary)
        trained.append(counts)
        return counts

    program, clang = find_program("tcc"), find_compiler(default_compiler())
    binaries = []
    for build in find_builds(["autofdo"]):
        objects = compile_build(program, build, clang, clang, train)
        binaries += link_layouts(objects, (DEFAULT,), clang)
    assert [binary.build for binary in binaries] == ["O2", "autofdo"]
    # Nothing of the kernel; a second time, the profile is there.
    assert all(end < 1 << 47 for counts in trained for _, end in counts.ranges)
    named = [run(["nm", str(binary.path)], timeout=60).output for binary in binaries]
    split = [said.count(".cold\n") for said in named]
    assert split[1] > split[0] + 20
    try:
        timed = time_binaries(binaries, runs=2)
    except UserError as error:
        pytest.skip(str(error))
    assert len({one.sum for one in timed}) == 1
