# SPDX-License-Identifier: GPL-2.0-or-later
"""Branch counts → Propeller's profiles for clang and the linker, by kernsmith's own generator."""

from __future__ import annotations

from pathlib import Path

from kernsmith._native import propeller_profile
from kernsmith.errors import UserError
from kernsmith.files import write_text
from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.symbols import entry_spans, fixed_spans, read_system_map, text_span
from kernsmith.kernel.toolchain import Toolchain
from kernsmith.profile.autofdo import check_build_id
from kernsmith.profile.counts import BranchCounts, is_counts, read_counts
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
    kept = counts.of_kernel().without_targets(entry_spans(kernel.system_map))
    ranges = [(start, last, count) for (start, last), count in kept.ranges.items()]
    branches = [(source, target, count) for (source, target), count in kept.branches.items()]
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


def maker(blocks: str) -> ProfileMaker[BranchCounts]:
    """A maker of profiles in which the executed blocks have this order."""

    def make(
        counts: BranchCounts, kernel: Kernel, toolchain: Toolchain, stem: Path
    ) -> tuple[Path, ...]:
        return make_propeller(counts, kernel, stem, blocks)

    def use(
        files: tuple[Path, ...], kernel: Kernel, toolchain: Toolchain, stem: Path
    ) -> tuple[Path, ...]:
        if not is_counts(files[0]):
            raise UserError(
                f"{files[0]} is not a profile of kernsmith: Propeller's profiles are made from "
                "counts of the very kernel that is laid out"
            )
        return make_propeller(read_counts(files[0]), kernel, stem, blocks)

    return ProfileMaker(make=make, usable=use)


MAKER = maker(EXT_TSP)
