# SPDX-License-Identifier: GPL-2.0-or-later
"""What a table of loops changes in a model: mispredicted directions, and cycles.

Three programs in user mode, each by all that it executes, and two workloads in kernel
mode: ``python bench/loops.py [MODEL]``, with `zen4` for who names none.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from kernsmith._native import trace_costs
from kernsmith.cli.progress import ProgressDisplay
from kernsmith.engine.silicon import Bench, guest_kernel, make_binaries, simulated
from kernsmith.guest.workloads import load_catalogue
from kernsmith.machine import Job, run_once
from kernsmith.machine.tcg import Tcg, open_machine
from kernsmith.silicon.builds import BASELINE, find_builds

PROGRAMS = ("lua", "mujs", "tcc")
WORKLOADS = ("pipe", "file")
TABLES = ("", "16, ways = 4", "32, ways = 4", "64, ways = 4")
KEY = "target_bits"


def models(text: str, folder: Path) -> list[Path]:
    """The model without and with tables of loops."""
    found = []
    for number, table in enumerate(TABLES):
        lines = [line for line in text.splitlines() if not line.startswith("loops =")]
        place = next(n for n, line in enumerate(lines) if line.startswith(KEY))
        if table:
            lines.insert(place, f"loops = {{ entries = {table} }}")
        found.append(folder / f"{number}.toml")
        found[-1].write_text("\n".join(lines) + "\n", encoding="utf-8")
    return found


def traces(machine: Tcg, folder: Path) -> Iterator[tuple[str, Path, int]]:
    """Names, what was executed, and the mode that counts: 0 is user mode."""
    with ProgressDisplay() as display:
        kernel = guest_kernel(display)
        bench = Bench(PROGRAMS, find_builds((BASELINE,)), layouts=0, others=0, runs=0)
        for program in PROGRAMS:
            (binary,) = make_binaries(bench, program, display)
            (one,) = simulated(machine, kernel, [binary], display, traced=True).values()
            assert one.trace is not None
            yield program, one.trace, 0
    for workload in load_catalogue().select(list(WORKLOADS)):
        outcome = run_once(machine, kernel, Job(workload, folder / workload.name, trace="loops"))
        assert outcome.trace is not None, outcome.reason
        yield workload.name, outcome.trace, 1


def main(cpu: str) -> None:
    machine = open_machine(cpu)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cpus = models(machine.cpu.read_text(encoding="utf-8"), folder)
        print("| | " + " | ".join(table or "none" for table in TABLES) + " |")
        for workload, trace, mode in traces(machine, folder):
            costs = [modes[mode] for modes in trace_costs(trace, cpus)]
            cells = []
            for cost in costs:
                each = 1000 * cost["branch_mispredictions"] / cost["conditional_branches"]
                cycles = 100 * (cost["model_cycles"] / costs[0]["model_cycles"] - 1)
                cells.append(f"{each:.2f} ({cycles:+.2f} %)")
            print(f"| `{workload}` | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main(*sys.argv[1:] or ["zen4"])
