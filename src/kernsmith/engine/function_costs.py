# SPDX-License-Identifier: GPL-2.0-or-later
"""What each function costs in a kernel's default layout, from the trace that layouts are replayed
from.

The front end goes through the trace once more, with counters for each function: what a block costs
is that of the function that it begins in. All functions together cost what the boot has counted,
but for iterations of `rep` instructions, of which a trace does not say where they were. Of a trace
of more than `MOST_BLOCKS` a part is counted, and scaled to all of its instructions. Figures are
kept beside the trace, which a study frees. The same pass tells what collides in the instruction
cache, and what each stack of functions costs (native/layout/src/collisions.rs, stacks.rs).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernsmith._native import trace_functions
from kernsmith.engine.kernel_code import UNKNOWN, read_code
from kernsmith.files import write_text
from kernsmith.layout import MOST_BLOCKS
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
USER = ""
"""The name of user mode among functions that evict."""
_LEAST = 5e-5


@dataclass(frozen=True)
class SetCounts:
    """A set of the cache. lines: the fewest that have 90 % of its fetches."""

    lines: int
    fetches: int
    misses: int
    conflicts: int


@dataclass(frozen=True)
class Collisions:
    """What collides in the L1 instruction cache, in kernel mode.

    first: misses of lines that never were there. pairs: by evictor and evicted function (symbols),
    misses and, of these, conflicts: what a fully associative cache would have had.
    lines: address, function, fetches, misses, conflicts. Of pairs and lines, those with the most
    misses.
    """

    ways: int
    line_bytes: int
    first: int
    sets: tuple[SetCounts, ...]
    pairs: Mapping[tuple[str, str], tuple[int, int]]
    lines: tuple[tuple[int, str, int, int, int], ...]


@dataclass(frozen=True)
class StackNode:
    """A function in a stack. parent: the place of the one that it was called or inlined in, which
    comes before it. cycles, instructions, misses (of L1i): its own, without what it calls."""

    parent: int | None
    function: str
    cycles: float
    instructions: int
    misses: int


@dataclass(frozen=True)
class Stacks:
    """What each stack of functions of the source costs, in kernel mode.

    Functions that cost less than a share of all (`_LEAST`) are in what they were called by.
    stacks: how many there were. returns: executed ones; lost: those that led to no call that was
    known to be open.
    """

    nodes: tuple[StackNode, ...]
    stacks: int
    returns: int
    lost: int


@dataclass(frozen=True)
class FunctionCosts:
    """Costs by symbol; and by function of the source, of kernels with debug information: what was
    inlined is of its own function, wherever it is. collisions, stacks: None where an earlier
    version of this program has counted."""

    symbols: Costs
    source: Costs | None
    collisions: Collisions | None
    stacks: Stacks | None


def costs_path(trace: Path, cpu: Path) -> Path:
    """Where the costs of a trace by function are, with a CPU model; trace: see `trace_path`."""
    return trace.with_suffix(f".{digest_of(cpu.read_text(encoding='utf-8'))[:12]}.functions")


def write_costs(
    folder: Path, trace: Path, cpu: Path, target: Path, places: Path | None = None
) -> None:
    """Count a trace of the kernel in a folder by function, if that was not done before.

    places: where its modules were, see `read_code`.
    """
    known = read_costs(target)
    if known and known.collisions and known.stacks:
        return
    code = read_code(folder, places)
    found = trace_functions(trace, cpu, code, _LEAST, MOST_BLOCKS)
    source = _table(found, code.source) if code.by_source else None
    tables = {
        "symbols": _table(found, lambda part: code.symbols[part]),
        "source": source,
        "collisions": found["collisions"],
        "stacks": _stacks_written(found["stacks"], code.functions),
    }
    write_text(target, json.dumps(tables))


def _table(found: Mapping[str, Any], name: Callable[[int], str]) -> dict[str, dict[str, float]]:
    """Sums of the parts that have one name."""
    table = {ALL: {metric: found["whole"][metric] for metric in KEPT}}
    for part, figures in found["parts"]:
        sums = table.setdefault(UNKNOWN if part is None else name(part), dict.fromkeys(KEPT, 0.0))
        for metric in KEPT:
            sums[metric] += figures[metric]
    return table


def _stacks_written(found: Mapping[str, Any], functions: Sequence[str]) -> dict[str, Any]:
    """With names only of the functions that are in it."""
    numbers: dict[int, int] = {}
    nodes = [
        (parent, numbers.setdefault(function, len(numbers)), round(cycles, 1), instructions, misses)
        for parent, function, cycles, instructions, misses in found["nodes"]
    ]
    return {**found, "nodes": nodes, "functions": [functions[number] for number in numbers]}


def read_costs(path: Path) -> FunctionCosts | None:
    """What `write_costs` has written; None when it has not."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        kept = found.get("collisions")
        collisions = read_collisions(kept) if kept else None
        stacks = _stacks(found.get("stacks"))
        return FunctionCosts(found["symbols"], found["source"], collisions, stacks)
    except (OSError, ValueError, KeyError):
        return None


def read_collisions(found: Mapping[str, Any]) -> Collisions:
    """What the native part tells, as a value. Functions of one name are one."""
    pairs: dict[tuple[str, str], tuple[int, int]] = {}
    for evictor, evicted, misses, conflicts in found["pairs"]:
        known = pairs.get((evictor, evicted), (0, 0))
        pairs[evictor, evicted] = (known[0] + misses, known[1] + conflicts)
    return Collisions(
        ways=found["ways"],
        line_bytes=found["line_bytes"],
        first=found["first"],
        sets=tuple(SetCounts(*each) for each in found["sets"]),
        pairs=pairs,
        lines=tuple((line[0], line[1], line[2], line[3], line[4]) for line in found["lines"]),
    )


def _stacks(found: Mapping[str, Any] | None) -> Stacks | None:
    if found is None:
        return None
    return Stacks(
        nodes=tuple(
            StackNode(parent, found["functions"][function], cycles, instructions, misses)
            for parent, function, cycles, instructions, misses in found["nodes"]
        ),
        stacks=found["stacks"],
        returns=found["returns"][0],
        lost=found["returns"][1],
    )
