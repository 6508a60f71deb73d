# SPDX-License-Identifier: GPL-2.0-or-later
"""The same binaries in the `tcg` machine: user mode counted, the block sequence as a trace."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

from kernsmith.errors import KernsmithError
from kernsmith.guest.initramfs import build_initramfs
from kernsmith.guest.workloads import Workload
from kernsmith.machine import Job, Outcome, run_once
from kernsmith.machine.pinned import pin
from kernsmith.machine.tcg import Tcg
from kernsmith.profile.counts import BranchCounts, read_body
from kernsmith.silicon.binaries import Binary
from kernsmith.silicon.timing import TUNABLES

# Programs' addresses are below the middle of all, whatever the architecture.
_PROGRAMS_END = 1 << 63


def branch_counts(machine: Tcg, kernel: Path, binary: Binary) -> BranchCounts:
    """Every branch of a run of the program, and every stretch of its code; none of the kernel's.

    Raises:
        KernsmithError: the program did not come to its end.
    """
    with tempfile.TemporaryDirectory() as booted:
        outcome = simulate(machine, kernel, binary, Path(booted), profile=True)
        if outcome.counts is None:
            raise KernsmithError(f"no counts came out of {binary.path.name} ({binary.build})")
        lines = outcome.counts.read_text().splitlines()
        counts = read_body(lines, origin=outcome.counts)
    ranges = {place: count for place, count in counts.ranges.items() if place[1] < _PROGRAMS_END}
    branches = {way: count for way, count in counts.branches.items() if max(way) < _PROGRAMS_END}
    return replace(counts, ranges=ranges, branches=branches, workloads=(binary.program,))


def simulate(
    machine: Tcg,
    kernel: Path,
    binary: Binary,
    folder: Path,
    *,
    trace: bool = False,
    profile: bool = False,
) -> Outcome:
    """Boot a kernel whose first process is the program, and count its region in user mode.

    kernel: any kernel that starts programs; of its own work in the region only timer interrupts
        are seen.

    Raises:
        KernsmithError: the program did not come to its end.
    """
    guest = pin(build_initramfs(binary.path), "initramfs.cpio")
    work = Workload(binary.program, (), "", 0, 0, ())
    job = Job(
        work,
        folder,
        trace=f"{binary.program} {binary.build} {binary.layout}" if trace else "",
        profile=profile,
        user=True,
        program=binary.path,
        words=(f"GLIBC_TUNABLES={TUNABLES}",),
    )
    outcome = run_once(replace(machine, guest=guest), kernel, job)
    if not outcome.ok:
        raise KernsmithError(
            f"{binary.path.name} ({binary.build}) did not run in the guest: {outcome.reason} "
            f"(console: {outcome.console})"
        )
    return outcome
