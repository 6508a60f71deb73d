# SPDX-License-Identifier: GPL-2.0-or-later
"""How much of a profile by function and line fits a kernel: what a profile of another version is
worth is at most this share.

clang looks up a profile by the name of a function and the distance of a line from the function's
first (`SampleProfileReader::getSamplesFor`, `SampleProfileLoader::getInstWeight` of LLVM). So a
function that was renamed is lost, and of one that was changed what stands behind the change.
Discriminators, which part a line's blocks, are left aside here.
"""

from __future__ import annotations

import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from kernsmith import process
from kernsmith.errors import ProcessFailed, UserError
from kernsmith.kernel.toolchain import Toolchain
from kernsmith.profile.counts import BranchCounts
from kernsmith.profile.functions import function_symbols
from kernsmith.profile.symbolized import symbolized

READ_SECONDS = 300.0

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

    functions: it has a function of the name. lines: and in it code of the line.
    lost: functions of which something is lost, the most first.
    """

    functions: float
    lines: float
    lost: tuple[Lost, ...]


def match_profile(profile: Path, vmlinux: Path, toolchain: Toolchain) -> Match:
    """Hold an AutoFDO profile, binary or text, against the line tables of a kernel.

    Raises:
        UserError: no such profile, one without counts, or a kernel without line tables.
    """
    return matched(profile_counts(profile, toolchain), kernel_places(vmlinux, toolchain))


def matched(counts: Mapping[Place, int], places: AbstractSet[Place]) -> Match:
    """The share of these counts for which there is a place."""
    whole = sum(counts.values())
    functions = {function for function, _ in places}
    lost: defaultdict[str, int] = defaultdict(int)
    for place, count in counts.items():
        if count and place not in places:
            lost[place[0]] += count
    unknown = sum(count for function, count in lost.items() if function not in functions)
    ordered = sorted(lost.items(), key=lambda item: (-item[1], item[0]))
    return Match(
        functions=1 - unknown / whole,
        lines=1 - sum(lost.values()) / whole,
        lost=tuple(Lost(name, count / whole, name in functions) for name, count in ordered),
    )


def profile_counts(profile: Path, toolchain: Toolchain) -> Counter[Place]:
    """How often each line of an AutoFDO profile was executed, wherever its function was inlined.

    Raises:
        UserError: it cannot be read, or has no counts.
    """
    counts = read_text(_as_text(profile, toolchain))
    if not counts.total():
        raise UserError(f"{profile} has no counts")
    return counts


def profiled_functions(profile: Path, toolchain: Toolchain) -> set[str]:
    """The functions that an AutoFDO profile has counts of, wherever they were not inlined; names
    without what a compiler puts behind a dot.

    Raises:
        UserError: it cannot be read.
    """
    begins = (line for line in _as_text(profile, toolchain) if line[:1].strip())
    return {line.rsplit(":", 2)[0].partition(".")[0] for line in begins}


def _as_text(profile: Path, toolchain: Toolchain) -> list[str]:
    words: list[str | Path] = [toolchain.tool("llvm-profdata"), "merge", "--sample", "--text"]
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "text"
        try:
            process.run([*words, f"--output={text}", profile], log=None, timeout=READ_SECONDS)
        except ProcessFailed as error:
            reason = error.tail.splitlines()[-1] if error.tail else "it cannot be read"
            raise UserError(f"{profile} is not a usable AutoFDO profile: {reason}") from None
        return text.read_text(encoding="utf-8", errors="replace").splitlines()


def kernel_places(vmlinux: Path, toolchain: Toolchain) -> AbstractSet[Place]:
    """All lines of functions of which a kernel has code: of a profile in which all ran once.

    Raises:
        UserError: the kernel has no line tables.
        ProcessFailed: the file is no image.
    """
    starts = sorted({symbol.address for symbol in function_symbols(vmlinux, toolchain)})
    ranges = {(start, end - 1): 1 for start, end in pairwise(starts)}
    counts = BranchCounts(build_id="", workloads=(), ranges=ranges, branches={})
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "text"
        symbolized(counts, vmlinux, toolchain, text, None, form="text")
        places = read_text(text.read_text(encoding="utf-8", errors="replace").splitlines())
    if not places:
        raise UserError(f"{vmlinux} has no line tables: give the one of the build")
    return places.keys()


def read_text(lines: Iterable[str]) -> Counter[Place]:
    """Counts by place of a profile in LLVM's text form.

    `NAME:TOTAL:HEAD` begins a function; each line below is one level deeper in inlined code than
    it is indented: `LINE[.DISCRIMINATOR]: COUNT …`, or `LINE[.DISCRIMINATOR]: NAME:TOTAL` where
    NAME was inlined (`SampleProfileReaderText` of LLVM).
    """
    counts: Counter[Place] = Counter()
    stack: list[str] = []
    for line in lines:
        inner = line.lstrip(" ")
        depth = len(line) - len(inner)
        if depth == 0:
            stack = [inner.rsplit(":", 2)[0]]
            continue
        place, _, told = inner.partition(": ")
        if inner.startswith("!") or not told:
            continue
        del stack[depth:]
        if told[0].isdigit():
            number = int(place.partition(".")[0])
            counts[stack[-1], number] += int(told.split()[0])
        else:
            stack.append(told.rsplit(":", 1)[0])
    return counts
