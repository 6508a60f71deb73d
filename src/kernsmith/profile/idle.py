# SPDX-License-Identifier: GPL-2.0-or-later
"""Objects that a profile knows nothing of: they are compiled as without one.

Such an object is left as it is in the kernel that was trained on, byte for byte, and is found in
the compile cache.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from pathlib import Path

from kernsmith.errors import KernsmithError
from kernsmith.files import write_text
from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.link import link_map
from kernsmith.kernel.modules import module_objects
from kernsmith.kernel.symbols import read_system_map
from kernsmith.profile.counts import BranchCounts

# A line of lld's map: address, load address, size, alignment, an input section of an object that
# is in an archive or not; kbuild's archives are thin, and name objects from where they lie.
_INPUT = re.compile(
    r"^ *([0-9a-f]+) +[0-9a-f]+ +([0-9a-f]+) +\d+ +"
    r"(?:((?:[^ ()/]+/)*)[^ ()/]+\()?([^ ()]+\.o)\)?:\(([^()]+)\)$"
)
# One object of all others: which of them a section came from, its map does not tell.
WHOLE = "vmlinux.o"


def idle_objects(counts: BranchCounts, kernel: Kernel) -> list[str]:
    """Objects of a kernel of which nothing was executed, or sampled, as kbuild names them, sorted.
    All objects of a module are such if nothing of it was, also if it was not loaded.

    None, so that all take the profile, where the linker's map does not tell of which object a
    section is.
    """
    sections = _sections(kernel)
    objects = {name for _, _, name in sections}
    of_modules = {
        name
        for module, names in module_objects(kernel.output).items()
        if module not in counts.modules or not counts.of_module(module).ranges
        for name in names
    }
    if not objects:
        return []
    return sorted((objects - _executed(sections, counts.ranges)) | of_modules)


def unnamed_objects(functions: AbstractSet[str], kernel: Kernel) -> list[str]:
    """Objects of a kernel that have none of these functions, as kbuild names them, sorted; those of
    modules are not told.

    functions: names without what a compiler puts behind a dot. None where the linker's map does not
        tell of which object a section is.
    """
    symbols = read_system_map(kernel.system_map)
    named = [(s.address, s.address) for s in symbols if s.name.partition(".")[0] in functions]
    sections = _sections(kernel)
    return sorted({name for _, _, name in sections} - _executed(sections, named))


def _sections(kernel: Kernel) -> list[tuple[int, int, str]]:
    """The input sections of a kernel; none where its map does not tell them."""
    try:
        sections = list(input_sections(link_map(kernel)))
    except KernsmithError:
        return []
    return [] if any(name == WHOLE for _, _, name in sections) else sections


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


def _executed(sections: list[tuple[int, int, str]], ranges: Iterable[tuple[int, int]]) -> set[str]:
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
