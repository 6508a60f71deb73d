# SPDX-License-Identifier: GPL-2.0-or-later
"""Branch counts → Propeller's profiles for clang and the linker, by kernsmith's own generator."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from kernsmith._native import propeller_carried, propeller_profile
from kernsmith.errors import UserError
from kernsmith.files import write_text
from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.symbols import entry_spans, fixed_spans, read_system_map, text_span
from kernsmith.kernel.toolchain import Toolchain
from kernsmith.profile.autofdo import check_build_id
from kernsmith.profile.counts import BranchCounts, is_counts, read_counts
from kernsmith.profile.coverage import counted_kernel
from kernsmith.profile.maker import ProfileMaker
from kernsmith.study.steps.propeller import CLUSTERS, SYMBOLS

EXT_TSP = "ext-tsp"
KEPT = "kept"


def make_propeller(
    counts: BranchCounts, kernel: Kernel, stem: Path, blocks: str = EXT_TSP
) -> tuple[Path, Path]:
    """Make both files beside `stem`: clusters of blocks, and the order of functions.

    blocks: `EXT_TSP`, or `KEPT` for executed blocks in the order that the compiler gave them.

    Raises:
        UserError: the counts belong to another kernel, or cover nothing of it; or the kernel has
            no map of basic blocks that can be read.
    """
    check_build_id(counts, kernel)
    ranges, branches = _listed(counts.of_kernel().without_targets(entry_spans(kernel.system_map)))
    text = text_span(kernel.system_map)
    whole = fixed_spans(read_system_map(kernel.system_map))
    try:
        made = propeller_profile(kernel.vmlinux, ranges, branches, blocks, text, whole)
    except ValueError as error:
        raise UserError(f"there is no Propeller profile of {kernel.vmlinux}: {error}") from None
    if not made["functions"]:
        raise UserError(f"the profile covers nothing of the kernel in {kernel.folder}")
    files = stem.with_name(stem.name + CLUSTERS), stem.with_name(stem.name + SYMBOLS)
    for file, content in zip(files, (made["clusters"], made["symbols"]), strict=True):
        file.parent.mkdir(parents=True, exist_ok=True)
        write_text(file, content)
    return files


@dataclass(frozen=True)
class Carried:
    """Counts of another kernel for this one.

    executed: functions that ran. same: how many of them have the same blocks in both.
    share: of all that was executed, what these are; from 0 to 1.
    """

    counts: BranchCounts
    executed: int
    same: int
    share: float


def carry_blocks(counts: BranchCounts, old: Kernel, kernel: Kernel) -> Carried:
    """Counts of a neighbouring version by this kernel's addresses, as far as the compiler has made
    the same blocks of a function. They are for Propeller alone: inside of a block, they may stand
    between instructions.

    Raises:
        UserError: the counts are not of the old kernel, or one has no map of basic blocks.
    """
    check_build_id(counts, old)
    try:
        found = propeller_carried(old.vmlinux, kernel.vmlinux, *_listed(counts.of_kernel()))
    except ValueError as error:
        raise UserError(f"counts cannot be carried to another kernel: {error}") from None
    carried = replace(
        counts,
        ranges={(first, last): count for first, last, count in found["ranges"]},
        branches={(source, target): count for source, target, count in found["branches"]},
        build_id=kernel.build_id,
        modules={},
    )
    return Carried(carried, found["executed"], found["same"], found["share"])


Listed = list[tuple[int, int, int]]


def _listed(counts: BranchCounts) -> tuple[Listed, Listed]:
    ranges = [(start, last, count) for (start, last), count in counts.ranges.items()]
    branches = [(source, target, count) for (source, target), count in counts.branches.items()]
    return ranges, branches


def _given(path: Path, kernel: Kernel) -> Carried | BranchCounts:
    """What the user brings: counts of the very kernel, or of another one that the cache has."""
    counts = _counts(path)
    if counts.build_id == kernel.build_id:
        return counts
    old = counted_kernel(counts.build_id)
    if old is None:
        raise UserError(
            f"{path} is of another kernel, which is not in the cache: its build id is "
            f"{counts.build_id or 'absent'}, the kernel's is {kernel.build_id}; train again"
        )
    return carry_blocks(counts, old, kernel)


def _counts(path: Path) -> BranchCounts:
    if not is_counts(path):
        raise UserError(
            f"{path} is not a profile of kernsmith: Propeller's profiles are made from counts of "
            "the very kernel that is laid out, or of a neighbouring version"
        )
    return read_counts(path)


def _check(files: tuple[Path, ...], toolchain: Toolchain) -> None:
    _counts(files[0])


def _tell(files: tuple[Path, ...], kernel: Kernel, toolchain: Toolchain) -> str:
    given = _given(files[0], kernel)
    if not isinstance(given, Carried):
        return ""
    return (
        f"{files[0]} is of another kernel: {given.same} of its {given.executed} functions that ran "
        f"have the same blocks in this one, {given.share:.1%} of what was executed"
    )


def maker(blocks: str) -> ProfileMaker[BranchCounts]:
    """A maker of profiles in which the executed blocks have this order."""

    def make(
        counts: BranchCounts, kernel: Kernel, toolchain: Toolchain, stem: Path
    ) -> tuple[Path, ...]:
        return make_propeller(counts, kernel, stem, blocks)

    def use(
        files: tuple[Path, ...], kernel: Kernel, toolchain: Toolchain, stem: Path
    ) -> tuple[Path, ...]:
        given = _given(files[0], kernel)
        counts = given.counts if isinstance(given, Carried) else given
        return make_propeller(counts, kernel, stem, blocks)

    return ProfileMaker(make=make, usable=use, check=_check, tell=_tell)


MAKER = maker(EXT_TSP)
