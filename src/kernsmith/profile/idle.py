# SPDX-License-Identifier: GPL-2.0-or-later
"""Objects that a profile knows nothing of: they are compiled as without one.

Such an object is left as it is in the kernel that was trained on, byte for byte, and is found in
the compile cache.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from itertools import pairwise
from pathlib import Path

from kernsmith import process
from kernsmith.errors import KernsmithError
from kernsmith.files import write_text
from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.link_map import link_map
from kernsmith.kernel.modules import module_objects
from kernsmith.kernel.symbols import is_function, read_system_map
from kernsmith.kernel.toolchain import Toolchain
from kernsmith.profile.counts import BranchCounts

# A line of lld's map: address, load address, size, alignment, an input section of an object that
# is in an archive or not; kbuild's archives are thin, and name objects from where they lie.
_INPUT = re.compile(
    r"^ *([0-9a-f]+) +[0-9a-f]+ +([0-9a-f]+) +\d+ +"
    r"(?:((?:[^ ()/]+/)*)[^ ()/]+\()?([^ ()]+\.o)\)?:\(([^()]+)\)$"
)
# A line of llvm-nm's: archive, object, address (bitcode has none), kind, name.
_DEFINED = re.compile(r"^[^ :]+:([^ :]+): [0-9a-f]+ (\w) (\S+)$", re.MULTILINE)
_ARCHIVE = "vmlinux.a"
_NM_SECONDS = 300.0
# One object of all others: which of them a section came from, its map does not tell.
WHOLE = "vmlinux.o"


def idle_objects(counts: BranchCounts, kernel: Kernel, toolchain: Toolchain) -> list[str]:
    """Objects of a kernel of which nothing was executed, or sampled, as kbuild names them, sorted.
    All objects of a module are such if nothing of it was, also if it was not loaded.

    None, so that all take the profile, where it cannot be told of which object a function is.
    """
    untouched = _untouched(counts.ranges, kernel, toolchain)
    if not untouched:
        return []
    of_modules = {
        name
        for module, names in module_objects(kernel.output).items()
        if module not in counts.modules or not counts.of_module(module).ranges
        for name in names
    }
    return sorted(untouched | of_modules)


def unnamed_objects(functions: AbstractSet[str], kernel: Kernel, toolchain: Toolchain) -> list[str]:
    """Objects of a kernel that have none of these functions, as kbuild names them, sorted; those of
    modules are not told.

    functions: names without what a compiler puts behind a dot. None where it cannot be told of
        which object a function is.
    """
    symbols = read_system_map(kernel.system_map)
    named = [(s.address, s.address) for s in symbols if s.name.partition(".")[0] in functions]
    return sorted(_untouched(named, kernel, toolchain))


def _untouched(
    ranges: Iterable[tuple[int, int]], kernel: Kernel, toolchain: Toolchain
) -> AbstractSet[str]:
    """The objects that have no code in any of these ranges of addresses (first, last)."""
    try:
        sections = list(input_sections(link_map(kernel)))
    except KernsmithError:
        return frozenset()
    if any(name == WHOLE for _, _, name in sections):
        return _untouched_by_name(ranges, kernel, toolchain)
    return {name for _, _, name in sections} - _touched(sections, ranges)


def _untouched_by_name(
    ranges: Iterable[tuple[int, int]], kernel: Kernel, toolchain: Toolchain
) -> AbstractSet[str]:
    """The same of a kernel whose objects are made one before it is linked (objtool looks at all of
    it, as for CONFIG_X86_KERNEL_IBT): by its functions' names. Of a name that several objects have
    all of them are touched."""
    objects, having = _defining(kernel, toolchain)
    at = defaultdict(set)
    for symbol in filter(is_function, read_system_map(kernel.system_map)):
        at[symbol.address].add(symbol.name)
    starts = sorted(at)
    spans = [(start, end, f"{start:x}") for start, end in pairwise(starts)]
    for start in _touched(spans, ranges):
        for name in at[int(start, 16)]:
            objects -= having[name]
    return objects


def _defining(kernel: Kernel, toolchain: Toolchain) -> tuple[set[str], Mapping[str, set[str]]]:
    """All objects of a kernel, and those that define each function; none where they are bitcode,
    of which the linker makes code."""
    words = [toolchain.tool("llvm-nm"), "--defined-only", "--no-sort", "-A", _ARCHIVE]
    try:
        said = process.run(words, log=None, cwd=kernel.output, timeout=_NM_SECONDS).output
    except KernsmithError:
        return set(), {}
    objects, having = set(), defaultdict(set)
    for name, kind, symbol in _DEFINED.findall(said):
        objects.add(name)
        if kind in "tTwW":
            having[symbol].add(name)
    return objects, having


def input_sections(link_map: Path, wanted: str = "") -> Iterator[tuple[int, int, str]]:
    """Sections of objects in a linker's map: where each begins and ends, and of which object it is,
    as kbuild names it.

    wanted: the name of those that are wanted; empty for all whose names begin with a dot.
    """
    with link_map.open(encoding="utf-8") as lines:
        for line in lines:
            found = _INPUT.match(line.rstrip("\n"))
            if found and (found[5] == wanted if wanted else found[5].startswith(".")):
                start, size = int(found[1], 16), int(found[2], 16)
                yield start, start + size, f"{found[3] or ''}{found[4]}"


def write_idle(objects: Iterable[str], path: Path) -> Path:
    """Write a list of objects for kbuild's compiler (native/compiler): one a line."""
    write_text(path, "".join(f"{name}\n" for name in objects), encoding="utf-8")
    return path


def _touched(sections: list[tuple[int, int, str]], ranges: Iterable[tuple[int, int]]) -> set[str]:
    placed = sorted(one for one in sections if one[0] and one[0] < one[1])
    starts = [start for start, _, _ in placed]
    found = set()
    for first, last in ranges:
        at = max(bisect_right(starts, first) - 1, 0)
        while at < len(placed) and placed[at][0] <= last:
            if first < placed[at][1]:
                found.add(placed[at][2])
            at += 1
    return found
