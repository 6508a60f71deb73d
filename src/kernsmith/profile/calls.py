# SPDX-License-Identifier: GPL-2.0-or-later
"""Branch counts → the calls between functions, as linkers take them."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter

from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.symbols import read_system_map
from kernsmith.profile.counts import BranchCounts


def call_lines(counts: BranchCounts, kernel: Kernel) -> str:
    """Lines of caller, callee and how often: `ld.lld`'s `--call-graph-ordering-file`.

    A branch from one function to the first byte of another is a call (tail calls, too). Sorted by
    name; functions that share an address go by the first name of `System.map`.
    """
    functions: dict[int, str] = {}
    for symbol in read_system_map(kernel.system_map):
        if symbol.kind in "tTwW":
            functions.setdefault(symbol.address, symbol.name)
    starts = sorted(functions)
    calls: Counter[tuple[str, str]] = Counter()
    for (source, target), count in counts.of_kernel().branches.items():
        at = bisect_right(starts, source) - 1
        if target in functions and at >= 0 and starts[at] != target:
            calls[functions[starts[at]], functions[target]] += count
    return "".join(f"{a} {b} {count}\n" for (a, b), count in sorted(calls.items()))
