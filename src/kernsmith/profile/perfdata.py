# SPDX-License-Identifier: GPL-2.0-or-later
"""Files of `perf record`: counts of a kernel out of them, and traces of workloads into them.

The native part streams the file, in bounded memory, and counts as `llvm-profgen` does from the
output of `perf script`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kernsmith import _native
from kernsmith.errors import UserError
from kernsmith.kernel.artifact import Kernel, load_kernel
from kernsmith.kernel.symbols import read_system_map
from kernsmith.profile.counts import BranchCounts


@dataclass(frozen=True)
class PerfData:
    """What a file of `perf record` says of a kernel.

    counts: by the kernel's link addresses; branches from outside of it come from address 1, as
        llvm-profgen has it.
    entries: branches of all stacks, or instruction pointers; inside: those of the kernel.
    guests: samples of guests of the machine, which are left out.
    lost: records and samples that perf lost. stray: samples of events that the file does not have.
    moved: bytes from where the kernel was linked to where it ran; None: the file does not say.
    build_id: of the kernel that ran; None: the file does not say.
    modules: names of modules, and how many branches led into each.
    has_lines: whether the `vmlinux` says from which lines its code was made.
    """

    counts: BranchCounts
    samples: int
    entries: int
    inside: int
    guests: int
    lost: int
    stray: int
    moved: int | None
    build_id: str | None
    modules: tuple[tuple[str, int], ...]
    has_lines: bool


@dataclass(frozen=True)
class TakenTrace:
    """The trace of a workload, and what it must say that it is of."""

    workload: str
    path: Path
    tag: str


def read_perf_data(
    path: Path, vmlinux: Path, *, instructions: bool = False, static_keys: bool = False
) -> PerfData:
    """Count what a file of `perf record` says of the kernel with this image.

    instructions: count where programs were interrupted, not the branches before that.
    static_keys: count stretches over jumps that the kernel patches to nops while it runs, too;
        llvm-profgen takes them for errors of the records.

    Raises:
        UserError: no such file, one that is cut off or corrupt, of another kernel or byte order,
            or without branch stacks.
    """
    try:
        found = _native.perf_data_counts(path, vmlinux, instructions, static_keys)
    except ValueError as error:
        raise UserError(str(error)) from None
    machine = ", ".join(filter(None, (found["host"], found["processor"])))
    counts = BranchCounts(
        {(first, last): count for first, last, count in found["ranges"]},
        {(source, target): count for source, target, count in found["branches"]},
        found["kernel_build_id"],
        sampled=True,
        source=_source(vmlinux, found["release"]),
        machines=(machine,) if machine else (),
    )
    return PerfData(
        counts,
        samples=found["samples"],
        entries=found["entries"],
        inside=found["inside"],
        guests=found["guests"],
        lost=found["lost"],
        stray=found["stray"],
        moved=found["moved"],
        build_id=found["build_id"],
        modules=tuple(found["modules"]),
        has_lines=found["has_lines"],
    )


def _source(vmlinux: Path, release: str) -> str:
    """What a kernel was built from, as its folder or the file of `perf record` says."""
    kernel = load_kernel(vmlinux.parent)
    if kernel is not None:
        return kernel.source_words
    return release and f"Linux {release}"


def write_perf_data(
    path: Path,
    kernel: Kernel,
    traces: Sequence[TakenTrace],
    *,
    period: int,
    command: Sequence[str],
) -> tuple[int, int]:
    """Write what `perf record -b -e branches:k -c PERIOD` would have of these workloads.

    command: the words that the file says have recorded it.

    Returns how many samples it has, of how many branches.

    Raises:
        UserError: a trace is of another kernel or workload, or the file cannot be written.
    """
    at = {symbol.name: symbol.address for symbol in read_system_map(kernel.system_map)}
    described = (kernel.build_id, _release(kernel), at["_text"], at["_etext"])
    taken = [(trace.workload, trace.path, trace.tag) for trace in traces]
    try:
        return _native.perf_data_record(path, described, taken, period, list(command))
    except ValueError as error:
        raise UserError(str(error)) from None


def _release(kernel: Kernel) -> str:
    """What `uname -r` says in it."""
    path = kernel.output / "include/config/kernel.release"
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError:
        return str(kernel.provenance["source"]["version"])
