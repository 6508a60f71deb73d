# SPDX-License-Identifier: GPL-2.0-or-later
"""Which functions a program's cycles are of, on this processor and in a CPU model.

`python bench/functions.py [MODEL [PROGRAM ...]]`: each program is compiled at -O2 and sampled here
in its default layout, and the same file is simulated. Figures are cycles for each instruction.
Without words: the model `emeraldrapids`, and SQLite. Half a minute a program, and up to ten more
for a core that nobody shares.
"""

import sys

from rich.console import Console
from rich.table import Table

from kernsmith.cli.progress import ProgressDisplay
from kernsmith.engine.silicon import Bench, guest_kernel, make_binaries, simulated
from kernsmith.kernel.artifact import file_digest
from kernsmith.machine.tcg import open_machine
from kernsmith.silicon.builds import find_builds
from kernsmith.silicon.functions import FunctionTime, function_times, misplaced, sample
from kernsmith.silicon.timing import all_cores, processor_name, time_binaries

RUNS = 40
PATIENCE = 600.0
"""Seconds, for a core that nobody shares."""
ROWS = 24


def told(functions: list[FunctionTime], title: str, console: Console) -> None:
    here = sum(one.here for one in functions)
    model = sum(one.model for one in functions)
    instructions = sum(one.instructions for one in functions)
    table = Table(
        "function", "of all here", "cycles each", "model", "of all, more here", title=title
    )
    for one in functions[:ROWS]:
        count = max(one.instructions, 1)
        table.add_row(
            one.name,
            f"{100 * one.here / here:.2f} %",
            f"{one.here / count:.2f} ± {one.error / count:.2f}",
            f"{one.model / count:.2f}",
            f"{100 * (one.here - one.model) / here:+.2f} %",
        )
    table.add_row("all", "", f"{here / instructions:.3f}", f"{model / instructions:.3f}", "")
    console.print(table)
    console.print(f"{100 * misplaced(functions):.1f} % of the model's cycles are misplaced")


def main(model: str = "emeraldrapids", *programs: str) -> None:
    machine = open_machine(model)
    console = Console(width=120)
    bench = Bench(programs or ("sqlite",), find_builds(["O2"]), layouts=1, others=1, runs=RUNS)
    for program in bench.programs:
        with ProgressDisplay() as display:
            kernel = guest_kernel(display)
            binary = make_binaries(bench, program, display)[0]
            cores = all_cores(PATIENCE, display.note)
            timed = time_binaries([binary], RUNS, cores=cores)[0]
            samples = sample(binary.path, RUNS, cores)
            if not cores.patient:
                display.note(f"{program}: a neighbour had a part of the core in some runs")
            traces = simulated(machine, kernel, [binary], display, traced=True)
        trace = traces[file_digest(binary.path)].trace
        assert trace is not None
        functions = function_times(binary.path, trace, machine.cpu, samples, timed.cycles)
        told(functions, f"{program}, {processor_name()}, {machine.cpu.stem}", console)


if __name__ == "__main__":
    main(*sys.argv[1:])
