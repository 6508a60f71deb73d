# SPDX-License-Identifier: GPL-2.0-or-later
"""A program of the silicon bench with AutoFDO and Propeller: trained in the tcg machine."""

from __future__ import annotations

import re

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
from kernsmith.silicon.timing import all_cores, time_binaries

pytestmark = pytest.mark.kernel


def by_address(binary: Binary) -> str:
    return run(["nm", "-n", str(binary.path)], timeout=60).output


def test_a_program_trains_in_the_machine_and_does_the_same_work(micro_kernel: Kernel) -> None:
    trained: list[BranchCounts] = []

    def train(binary: Binary) -> BranchCounts:
        counts = branch_counts(open_machine("skylake"), micro_kernel.vmlinux, binary)
        trained.append(counts)
        return counts

    program, clang = find_program("tcc"), find_compiler(default_compiler())
    binaries, orders = [], []
    for build in find_builds(["autofdo", "propeller"]):
        objects = compile_build(program, build, clang, clang, train)
        binaries += link_layouts(objects, (DEFAULT,), clang)
        orders += [objects.order] if objects.order else []
    assert [binary.build for binary in binaries] == ["O2", "autofdo", "propeller"]
    # Nothing of the kernel; a second time, the profile is there.
    assert all(end < 1 << 47 for counts in trained for _, end in counts.ranges)
    split = [by_address(binary).count(".cold\n") for binary in binaries]
    assert split[1] > split[0] + 20
    # Propeller's own order of functions, hot ones first.
    (order,) = orders
    names = order.read_text().split()
    code = re.findall(r"^[0-9a-f]+ [tTwW] (\S+)$", by_address(binaries[2]), re.MULTILINE)
    assert [name for name in code if name in set(names)] == names
    try:
        timed = time_binaries(binaries, runs=2, cores=all_cores(patience=0))
    except UserError as error:
        pytest.skip(str(error))
    assert len({one.sum for one in timed}) == 1
