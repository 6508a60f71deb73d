# SPDX-License-Identifier: GPL-2.0-or-later
"""What each function costs in a kernel's default layout, from the trace that layouts are replayed
from.

The front end goes through the trace once more, with counters for each function: what a block costs
is that of the function that it begins in. All functions together cost what the boot has counted,
but for iterations of `rep` instructions, of which a trace does not say where they were. Figures are
kept beside the trace, which a study frees.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from kernsmith._native import source_functions, trace_functions
from kernsmith.files import write_text
from kernsmith.kernel.symbols import is_function, read_system_map
from kernsmith.machine.metrics import KERNEL_INSTRUCTIONS, MODEL_CYCLES
from kernsmith.study import digest_of

ALL = ""
"""What stands for all of the kernel's code among names of functions."""
KEPT = (
    MODEL_CYCLES, KERNEL_INSTRUCTIONS, "l1i_misses", "itlb_misses",
    "branch_mispredictions", "indirect_mispredictions",
)  # fmt: skip

Costs = Mapping[str, Mapping[str, float]]
"""Metrics by the function's name."""


@dataclass(frozen=True)
class FunctionCosts:
    """Costs by symbol; and by function of the source, of kernels with debug information: what was
    inlined is of its own function, wherever it is."""

    symbols: Costs
    source: Costs | None


def costs_path(trace: Path, cpu: Path) -> Path:
    """Where the costs of a trace by function are, with a CPU model; trace: see `trace_path`."""
    return trace.with_suffix(f".{digest_of(cpu.read_text(encoding='utf-8'))[:12]}.functions")


def write_costs(folder: Path, trace: Path, cpu: Path, target: Path) -> None:
    """Count a trace of the kernel in a folder by function, if that was not done before."""
    if target.exists():
        return
    places = _places(folder)
    found, total = trace_functions(trace, cpu, places.starts)
    whole = {metric: total[metric] for metric in KEPT}
    tables: dict[str, dict[str, dict[str, float]] | None] = {}
    for kind, names in (("symbols", places.symbols), ("source", places.source)):
        table = {ALL: whole}
        for place, figures in found if names else ():
            name = "?" if place is None else names[place]
            known = table.setdefault(name, dict.fromkeys(KEPT, 0.0))
            for metric in KEPT:
                known[metric] += figures[metric]
        tables[kind] = table if names else None
    write_text(target, json.dumps(tables))


def read_costs(path: Path) -> FunctionCosts | None:
    """What `write_costs` has written; None when it has not."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return FunctionCosts(found["symbols"], found["source"])
    except (OSError, ValueError, KeyError):
        return None


@dataclass(frozen=True)
class _Places:
    """Where the names of a kernel's code change: the name that holds from each address on.

    source: of functions of the source; empty without debug information.
    """

    starts: list[int]
    symbols: list[str]
    source: list[str]


@lru_cache(maxsize=2)
def _places(folder: Path) -> _Places:
    symbols = sorted(
        (each.address, each.name)
        for each in read_system_map(folder / "System.map")
        if is_function(each)
    )
    try:
        names, spans = source_functions(folder / "vmlinux")
    except ValueError:
        names, spans = [], []
    known = [address for address, _ in symbols]
    begins = [begin for begin, _, _ in spans]
    starts = sorted({*known, *begins, *(end for _, end, _ in spans)})

    def symbol(address: int) -> str:
        at = bisect_right(known, address) - 1
        # .llvm.123, .cold, .constprop.0: of the same function of the source.
        return symbols[at][1].partition(".")[0] or "?" if at >= 0 else "?"

    def of_source(address: int) -> str:
        at = bisect_right(begins, address) - 1
        inside = at >= 0 and address < spans[at][1]
        return names[spans[at][2]] if inside else symbol(address)

    return _Places(
        starts,
        [symbol(address) for address in starts],
        [of_source(address) for address in starts] if spans else [],
    )
