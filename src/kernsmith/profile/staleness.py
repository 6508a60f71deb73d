# SPDX-License-Identifier: GPL-2.0-or-later
"""How much of a profile by function and line fits a kernel: what a profile of another version is
worth is at most this share.

clang looks up a profile by the name of a function and the distance of a line from the function's
first (`SampleProfileReader::getSamplesFor`, `SampleProfileLoader::getInstWeight` of LLVM), and what
was inlined by the line of the call. So a function that was renamed is lost, of one that was changed
what stands behind the change, and all that is inlined there. Discriminators, which part a line's
blocks, are left aside here.
"""

from __future__ import annotations

import tempfile
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from kernsmith._native import direct_calls
from kernsmith.errors import UserError
from kernsmith.kernel.toolchain import Toolchain
from kernsmith.profile.carried import carry, lines_with_code
from kernsmith.profile.counts import BranchCounts
from kernsmith.profile.functions import function_symbols
from kernsmith.profile.lines import Profile, Samples, parse_profile, read_profile
from kernsmith.profile.symbolized import symbolized

Place = tuple[str, int]
"""A function, and so many lines behind its first."""


@dataclass(frozen=True)
class Lost:
    """A function whose counts do not all fit. share: of all counts of the profile, from 0 to 1;
    known: whether the kernel has a function of this name."""

    function: str
    share: float
    known: bool


@dataclass(frozen=True)
class Match:
    """What share of a profile's counts a kernel has the place for, from 0 to 1.

    functions: it has a function of the name. lines: and in it code of the line, inlined or not.
    found: and it was inlined, or called, at the same line, too, where the compiler looks for it.
    carried: the same of the profile that `carried.carry` makes of it for this kernel.
    lost: functions of which lines are lost, the most first.
    """

    functions: float
    lines: float
    found: float
    carried: float
    lost: tuple[Lost, ...]


def match_profile(profile: Path, vmlinux: Path, toolchain: Toolchain) -> Match:
    """Hold an AutoFDO profile, binary or text, against the line tables of a kernel.

    Raises:
        UserError: no such profile, one without counts, or a kernel without line tables.
    """
    return matched(*read_both(profile, vmlinux, toolchain))


def read_both(profile: Path, vmlinux: Path, toolchain: Toolchain) -> tuple[Profile, Profile]:
    """An AutoFDO profile, and the kernel's code by function and line.

    Raises:
        UserError: see `match_profile`.
    """
    counts = read_profile(profile, toolchain)
    if not any(samples.counted() for samples in counts.values()):
        raise UserError(f"{profile} has no counts")
    return counts, kernel_lines(vmlinux, toolchain)


def matched(profile: Profile, kernel: Profile) -> Match:
    """The share of a profile's counts for which a kernel has a place."""
    counts, functions = counts_by_place(profile), lines_with_code(kernel)
    whole = counts.total()
    lost: defaultdict[str, int] = defaultdict(int)
    for (function, line), count in counts.items():
        if count and line not in functions.get(function, ()):
            lost[function] += count
    unknown = sum(count for function, count in lost.items() if function not in functions)
    ordered = sorted(lost.items(), key=lambda item: (-item[1], item[0]))
    carried = carry(profile, kernel)
    return Match(
        functions=1 - unknown / whole,
        lines=1 - sum(lost.values()) / whole,
        found=carried.before,
        carried=carried.found,
        lost=tuple(Lost(name, count / whole, name in functions) for name, count in ordered),
    )


def profiled_functions(profile: Profile) -> set[str]:
    """The functions that a profile has counts of, wherever they were not inlined; names without
    what a compiler puts behind a dot."""
    return {name.partition(".")[0] for name in profile}


def kernel_lines(vmlinux: Path, toolchain: Toolchain) -> Profile:
    """A kernel's code by function and line: a profile in which all ran once, and each direct call
    was taken.

    Raises:
        UserError: the kernel has no line tables, or the file is no image.
    """
    starts = sorted({symbol.address for symbol in function_symbols(vmlinux, toolchain)})
    ranges = {(start, end - 1): 1 for start, end in pairwise(starts)}
    known = set(starts)
    try:
        branches = {way: 1 for way in direct_calls(vmlinux) if way[1] in known}
    except ValueError as error:
        raise UserError(str(error)) from None
    counts = BranchCounts(build_id="", workloads=(), ranges=ranges, branches=branches)
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "text"
        symbolized(counts, vmlinux, toolchain, text, None, form="text")
        found = parse_profile(text.read_text(encoding="utf-8", errors="replace").splitlines())
    if not found:
        raise UserError(f"{vmlinux} has no line tables: give the one of the build")
    return found


def counts_by_place(profile: Profile) -> Counter[Place]:
    """How often each line was executed, wherever its function was inlined."""
    counts: Counter[Place] = Counter()

    def take(name: str, samples: Samples) -> None:
        for (line, _), (count, _) in samples.lines.items():
            counts[name, line] += count
        for _, inner_name, inner in samples.inner():
            take(inner_name, inner)

    for name, samples in profile.items():
        take(name, samples)
    return counts
