# SPDX-License-Identifier: GPL-2.0-or-later
"""Branch counts → a profile for llvm-bolt, by LLVM's own converter."""

from __future__ import annotations

import signal
import tempfile
from bisect import bisect_right
from collections import Counter
from pathlib import Path

from kernsmith import process
from kernsmith.errors import ProcessFailed, UserError
from kernsmith.files import replacing
from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.link import LinkFailed
from kernsmith.kernel.symbols import entry_spans, text_span
from kernsmith.kernel.toolchain import Toolchain
from kernsmith.profile.autofdo import check_build_id
from kernsmith.profile.counts import BranchCounts, Pair, is_counts, read_counts
from kernsmith.profile.maker import ProfileMaker

SECONDS = 900.0
# Bytes of an x86 instruction (Intel SDM, volume 2, 2.3.11).
_LONGEST = 15


def make_fdata(counts: BranchCounts, kernel: Kernel, toolchain: Toolchain, target: Path) -> Path:
    """Convert the counts of a kernel to BOLT's format: by functions and offsets in them.

    Raises:
        UserError: the counts belong to another kernel, or cover nothing of it.
        LinkFailed: perf2bolt crashed.
        ProcessFailed: perf2bolt ended with an error.
    """
    check_build_id(counts, kernel)
    first, last = text_span(kernel.system_map)
    if not any(first <= start < last for start, _ in counts.ranges):
        raise UserError(f"the profile covers nothing of the kernel in {kernel.folder}")
    real = counts.of_kernel().without_targets(entry_spans(kernel.system_map))
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, replacing(target) as profile:
        given = Path(folder) / "aggregated"
        given.write_text(aggregated(real), encoding="ascii")
        command = [
            toolchain.tool("perf2bolt"), f"--perfdata={given}", "--pa",
            "--ignore-build-id", "-o", str(profile), str(kernel.vmlinux),
        ]  # fmt: skip
        log = target.with_suffix(".log")
        try:
            process.run(command, log=log, timeout=SECONDS)
        except ProcessFailed as error:
            if error.returncode not in (-signal.SIGSEGV, -signal.SIGABRT):
                raise
            raise LinkFailed(
                f"{command[0]} crashed on {kernel.vmlinux}; it may not know all tables of "
                f"{kernel.provenance['source']['name']} (docs/bolt.md); what it said: {log}"
            ) from error
    return target


def aggregated(counts: BranchCounts) -> str:
    """The counts as perf2bolt reads them (LLVM, bolt/Profile/DataAggregator.h): `B` and a branch,
    its target, how often it was taken and mispredicted; `F` and a stretch without a taken branch.

    Ranges of exact counts end at every branch, also where it was not taken. What goes on behind it
    is a stretch of its own, from the branch to the next instruction.
    """
    lines = [f"B {a:x} {b:x} {count} 0\n" for (a, b), count in sorted(counts.branches.items())]
    stretches = {**_not_taken(counts), **counts.ranges}
    lines += [f"F {a:x} {b:x} {count}\n" for (a, b), count in sorted(stretches.items())]
    return "".join(lines)


def _not_taken(counts: BranchCounts) -> dict[Pair, int]:
    """From the last instruction of a range to the next instruction, how often that came next."""
    executed: Counter[int] = Counter()
    for (_, last), count in counts.ranges.items():
        executed[last] += count
    for (source, _), count in counts.branches.items():
        executed[source] -= count
    starts = sorted({start for start, _ in counts.ranges})
    found = {}
    for last, count in executed.items():
        at = bisect_right(starts, last)
        # What came next began a range of its own, and nothing lies between.
        if count > 0 and at < len(starts) and starts[at] - last <= _LONGEST:
            found[last, starts[at]] = count
    return found


def _make(
    counts: BranchCounts, kernel: Kernel, toolchain: Toolchain, stem: Path
) -> tuple[Path, ...]:
    return (make_fdata(counts, kernel, toolchain, stem.with_suffix(".fdata")),)


def _use(
    files: tuple[Path, ...], kernel: Kernel, toolchain: Toolchain, stem: Path
) -> tuple[Path, ...]:
    if is_counts(files[0]):
        return _make(read_counts(files[0]), kernel, toolchain, stem)
    _check(files, toolchain)
    return files


def _check(files: tuple[Path, ...], toolchain: Toolchain) -> None:
    if is_counts(files[0]):
        read_counts(files[0])
    elif files[0].suffix != ".fdata":
        raise UserError(f"{files[0]} is no profile for BOLT: allowed are counts and .fdata files")


MAKER = ProfileMaker(make=_make, usable=_use, check=_check)
