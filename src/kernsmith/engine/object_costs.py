# SPDX-License-Identifier: GPL-2.0-or-later
"""What each object of a kernel costs, and each function in it, from a trace of it.

A function is told by its address, and so is the object that it is of: names of static functions
are not unique. What is outside of `.text` (modules, too) is of no object.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from kernsmith._native import trace_functions
from kernsmith.engine.kernel_code import UNKNOWN, KernelCode
from kernsmith.kernel.symbols import is_function, read_system_map
from kernsmith.layout import MOST_BLOCKS, text_files

ObjectCosts = Mapping[str, Mapping[str, float]]
"""One metric, by object and function. A function's parts (`.cold`) are its own."""

_ANY = 1.0
"""No stack has this share of all: none is asked for."""


def costs_by_object(
    trace: Path, cpu: Path, folder: Path, metric: str, object_of: Callable[[str], str]
) -> ObjectCosts:
    """Count a trace.

    folder: with `System.map` and the linker's `map` of the kernel. metric: one of `KEPT`.
    object_of: the name of an object by its path in the map.
    """
    code, owners = _code(folder, object_of)
    found: defaultdict[str, defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
    for part, figures in trace_functions(trace, cpu, code, _ANY, MOST_BLOCKS)["parts"]:
        owner, function = (UNKNOWN, UNKNOWN) if part is None else owners[part]
        found[owner][function] += figures[metric]
    return {owner: dict(functions) for owner, functions in found.items()}


def _code(
    folder: Path, object_of: Callable[[str], str]
) -> tuple[KernelCode, Sequence[tuple[str, str]]]:
    """The kernel's code in parts, and of which object and function each is."""
    sections = text_files(folder / "map")
    begins = [begin for begin, _, _ in sections]
    known = sorted(
        (each.address, each.name)
        for each in read_system_map(folder / "System.map")
        if is_function(each)
    )
    addresses = [address for address, _ in known]
    starts = sorted({*addresses, *begins, *(end for _, end, _ in sections)})
    numbers: dict[tuple[str, str], int] = {}
    parts = []
    for address in starts:
        at, symbol = bisect_right(begins, address) - 1, bisect_right(addresses, address) - 1
        inside = at >= 0 and address < sections[at][1]
        owner = object_of(sections[at][2]) if inside else UNKNOWN
        name = known[symbol][1].partition(".")[0] if symbol >= 0 else UNKNOWN
        parts.append(numbers.setdefault((owner, name or UNKNOWN), len(numbers)))
    owners = list(numbers)
    count = range(len(owners))
    code = KernelCode(
        starts=starts,
        parts=parts,
        symbols=[name for _, name in owners],
        frames=list(count),
        tree=[(None, number) for number in count],
        functions=[name for _, name in owners],
        by_source=False,
        switches=[],
    )
    return code, owners
