# SPDX-License-Identifier: GPL-2.0-or-later
"""What each mechanism of a model does to its agreement with this processor, by leaving it out.

``python bench/mechanisms.py [MODEL [LAYOUTS [PROGRAM...]]]``: programs are timed and simulated as
`kernsmith silicon` does it, and what each binary executes is replayed by the model without this
mechanism and without that. Without words: `zen4`, `tcc` in four layouts.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import tomlkit

from kernsmith._native import cpu_model_check, trace_costs
from kernsmith.cli.progress import ProgressDisplay
from kernsmith.engine.calibration import Timed
from kernsmith.engine.calibration_programs import timed_programs
from kernsmith.engine.silicon import Bench, guest_kernel, measure, simulated, table_file, times
from kernsmith.machine.metrics import MODEL_CYCLES
from kernsmith.machine.tcg import open_machine
from kernsmith.silicon.builds import BASELINE, find_builds
from kernsmith.silicon.timing import processor_name
from kernsmith.stats.agreement import Agreement, judge, with_modelled
from kernsmith.threads import each_of, threads

BUILDS = ("O3", "Os", "align64", "instrumented", "autofdo", "gcc-O2")
RUNS = 25

# By what is left out: keys and their values; None takes a table away.
WITHOUT: Mapping[str, Mapping[str, Any]] = {
    "nothing": {},
    "fetching what prediction comes to": {"decoupled.fetch.prefetch": "off"},
    "waiting for pages": {"decoupled.fetch.walk_ahead": "on"},
    "the line behind": {"decoupled.fetch.next_line": "off"},
    "the micro-op cache": {"decoupled.op_cache": None, "decoupled.fetch.switch_cycles": None},
    "switching to the decoders": {"decoupled.fetch.switch_cycles": 0},
    "steering from the decoders": {"decoupled.fetch.decode_steer_cycles": 0},
    "slower target buffers": {
        f"decoupled.buffers.{level}.cycles": 0 for level in ("l0", "l1", "l2")
    },
    "what a taken branch takes": {"decoupled.fetch.taken_cycles": 0},
    "targets by history": {"decoupled.predictor.target_sets": 2},
    "long histories": {"decoupled.predictor.longest_history": 40},
    "names of functions": {"decoupled.predictor.known_by": "address"},
    "what a misprediction waits for": {"decoupled.core.resolve_cycles": 0},
    "L1i misses": {"l1i.miss_cycles": 0, "l2.miss_cycles": 0},
    "TLB misses": {"itlb.miss_cycles": 0, "stlb.miss_cycles": 0},
    "what data cost": {"decoupled.core.stall_cycles": 0},
}


def without(text: str, changes: Mapping[str, Any]) -> str:
    """A model's file with these changes, as far as it has their tables."""
    document = tomlkit.parse(text)
    for key, value in changes.items():
        *tables, last = key.split(".")
        at: Any = document
        for table in tables:
            at = at.get(table, {})
        if value is None:
            at.pop(last, None)
        elif at:
            at[last] = value
    return tomlkit.dumps(document)


def possible(text: str, folder: Path) -> dict[str, Path]:
    """Files of the model without what it has, by what they are without."""
    found = {}
    for number, (what, changes) in enumerate(WITHOUT.items()):
        path = folder / f"{number}.toml"
        path.write_text(without(text, changes), encoding="utf-8")
        with suppress(ValueError):
            cpu_model_check(path)
            found[what] = path
    return found


def simulate(timed: Sequence[Timed], cpus: Sequence[Path]) -> np.ndarray:
    """Cycles of each trace in user mode. Shape: (cpus, timed)."""
    found = np.empty((len(cpus), len(timed)))

    def one(number: int) -> None:
        costs = trace_costs(timed[number].key, cpus)
        found[:, number] = [modes[0][MODEL_CYCLES] for modes in costs]

    with threads(os.cpu_count() or 1) as pool:
        each_of(pool, one, range(len(timed)))
    return found


def judgements(
    cpu: str, layouts: int, programs: tuple[str, ...]
) -> Iterator[tuple[str, float, Agreement]]:
    """What is left out, what that makes of all cycles, and the agreement with this processor."""
    machine = open_machine(cpu)
    bench = Bench(programs, find_builds(BUILDS), layouts, 2, RUNS)
    with ProgressDisplay() as display, tempfile.TemporaryDirectory() as name:
        rows, made = measure(bench, table_file(), display)
        binaries = [binary for one in made.values() for binary in one]
        figures = simulated(machine, guest_kernel(display), binaries, display, traced=True)
        known = [figures[row.digest].counters[MODEL_CYCLES] for row in rows]
        timed = timed_programs(rows, figures, known)
        text = machine.cpu.read_text(encoding="utf-8")
        cpus = possible(text, Path(name))
        display.stage(f"{len(timed)} binaries by {len(cpus)} models")
        costs = simulate(timed, list(cpus.values()))
    for what, cost in zip(cpus, costs, strict=True):
        changed = cost / costs[0]
        cycles = [one.modelled * by for one, by in zip(timed, changed, strict=True)]
        agreement = judge(with_modelled(times(rows), cycles), BASELINE, factor=1.0)
        yield what, 100 * float(changed.mean() - 1), agreement


def main(cpu: str = "zen4", layouts: str = "3", *programs: str) -> None:
    print(f"{cpu} on {processor_name()}\n")
    print(
        "| without | cycles, all | cycles off by | builds: mean and worst, points | right signs | "
        "layouts: rank, noise allows | ratio of two, points; apart |"
    )
    print("| --- |" + " ---: |" * 6)
    for what, change, found in judgements(cpu, int(layouts), programs or ("tcc",)):
        signs = found.builds
        print(
            f"| {what} | {change:+.2f} % | {100 * found.cycles:.1f} % | {found.mean_error:.2f}, "
            f"{found.worst_error:.2f} | {signs.right} of {signs.pairs} | {found.correlation:.2f}, "
            f"{found.allowed:.2f} | {found.layout_error:.2f}; {found.layout_difference:.2f} |"
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
