# SPDX-License-Identifier: GPL-2.0-or-later
"""`kernsmith silicon`: hold a CPU model against this processor."""

from __future__ import annotations

import json as json_text
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from kernsmith.errors import UserError
from kernsmith.study.study import DEFAULT_CPU, FRONTEND, Depth

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernsmith.engine.silicon import Row
    from kernsmith.stats.agreement import Agreement
    from kernsmith.stats.orders import OrderEffect

_FEWEST_RUNS = 4


def silicon(
    *,
    program: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    build: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    order: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    layouts: int = 16,
    others: int = 6,
    runs: int = 25,
    patience: float | None = None,
    cpu: str = DEFAULT_CPU,
    depth: Depth = FRONTEND,
    measured: Path | None = None,
    times: bool = False,
    json: bool = False,
) -> int:
    """Time real programs on this processor, simulate the same binaries, and tell how far off it is.

    Each program is compiled in several ways and linked in many layouts; every binary runs here and,
    the same file, in the tcg machine with its user mode counted. Neither a PMU nor root is needed:
    cycles are those of the core, from the time stamp counter and chains of multiplications. Beside
    each agreement stands what noise alone would allow, from two halves of the runs.

    By models whose predictors know branches by function, each build's default layout is simulated
    by five draws of functions' names, and builds are compared by the mean.

    Times are added to a table and not measured again: killed at any moment, the same command goes
    on where it stopped. Nothing else should run meanwhile. All programs together take hours (the
    program `uml` is a whole kernel for each build); --program says which.

    Examples:

        kernsmith silicon

        kernsmith silicon --program lua --program tcc --build Os --layouts 8

        kernsmith silicon --program uml --build autofdo --times

        kernsmith silicon --program uml --build "inline=-O2 -mllvm -inline-threshold=50" --times

        kernsmith silicon --program uml --build O2 --order search --order c3 --times

        kernsmith silicon --cpu mine.toml --json

    Parameters
    ----------
    program
        Programs to run; default: all. May be given several times.
    build
        Ways to compile them, beside the baseline O2; default: all. Yours are NAME=FLAGS, by clang;
        "NAME=gcc FLAGS" by gcc.
    order
        Orders of functions that are made from one run of the program in the tcg machine, as `layout
        optimize` makes them: search, packed, shared, c3, cdsort, pettis-hansen, hot-first, density,
        "lld cdsort", "lld hfsort". Each build is linked in them, too.
    layouts
        Random layouts of the baseline.
    others
        Random layouts of each other build.
    runs
        Runs of each binary, interleaved with all others of its program.
    patience
        Seconds for which a program's binaries wait for a core that no neighbour shares and that is
        seldom interrupted; default: 120. A neighbour is another guest on the core's other thread:
        it takes half of the core. Some hypervisors interrupt a guest every 50 µs. No figure of this
        system tells of either.
    cpu
        CPU model: a shipped one (`kernsmith cpu models`) or a TOML file. It is held against the
        times, and orders are made for it.
    depth
        How deep it is simulated: frontend (what code costs), or core (loads and stores, too).
    measured
        The table of times (CSV) to go on with; default: this processor's, in the cache.
    times
        Only time them, and compare the builds by what this processor took: nothing is simulated.
    json
        Print the result as JSON instead of tables.
    """
    if runs < _FEWEST_RUNS or layouts < 0 or others < 0:
        raise UserError(f"silicon needs --runs {_FEWEST_RUNS} or more, and no negative layouts")
    from kernsmith.cli.console import result_console
    from kernsmith.cli.progress import ProgressDisplay
    from kernsmith.engine.best_order import check_orders
    from kernsmith.engine.draws import over_draws
    from kernsmith.engine.silicon import Bench, guest_kernel, measure, points, simulated, table_file
    from kernsmith.machine.held import read_held
    from kernsmith.machine.tcg import Table, open_machine
    from kernsmith.report.silicon import in_view_sentence, print_agreement, print_orders
    from kernsmith.silicon.builds import BASELINE, find_builds
    from kernsmith.silicon.programs import check_programs
    from kernsmith.silicon.shared_core import check_patience
    from kernsmith.silicon.timing import check_clock, processor_name
    from kernsmith.stats.agreement import judge

    waits = check_patience(patience)
    check_clock()
    programs = check_programs(program)
    machine = open_machine(cpu, Table.model_validate({"depth": depth}))
    orders = check_orders(order)
    trainer = open_machine(cpu)
    bench = Bench(programs, find_builds(build), layouts, others, runs, orders, trainer, waits)
    with ProgressDisplay() as display:
        rows, binaries = measure(bench, measured or table_file(), display)
        if times:
            return tell_times(rows, runs, json)
        made = [binary for one in binaries.values() for binary in one]
        kernel = guest_kernel(display)
        figures = simulated(machine, kernel, made, display)
        cycles = over_draws(machine, kernel, rows, made, figures, display)
    modelled = dict(zip(rows, cycles, strict=True))
    drawn, orders_told = apart(rows, cycles)
    agreement = judge(points(drawn, modelled.__getitem__), BASELINE, factor=1.0)
    held = read_held(machine.cpu)
    if json:
        document = _document(agreement, processor_name(), cpu, depth, bench.runs)
        document["orders"] = [asdict(one) for one in orders_told]
        document["in_view"] = list(held.names) if held and held.of == "programs" else []
        _write(document)
    else:
        print_agreement(agreement, processor_name(), cpu, result_console())
        if said := in_view_sentence(Path(cpu).stem, held, programs):
            result_console(markup=False).print(said)
        print_orders(orders_told, processor_name(), result_console())
    return 0


def tell_times(rows: Sequence[Row], runs: int, json: bool) -> int:
    """Print builds by what this processor took; the exit code."""
    from kernsmith.cli.console import result_console
    from kernsmith.engine.silicon import times
    from kernsmith.report.silicon import print_orders, print_times
    from kernsmith.silicon.builds import BASELINE
    from kernsmith.silicon.timing import processor_name
    from kernsmith.stats.agreement import allowed_by_noise
    from kernsmith.stats.builds import build_effects

    drawn, orders = apart(rows)
    effects = build_effects(times(drawn), BASELINE)
    if json:
        document = {
            "version": 1,
            "processor": processor_name(),
            "runs": runs,
            "builds": [asdict(effect) for effect in effects],
            "orders": [asdict(effect) for effect in orders],
        }
        _write(document)
    else:
        print_times(effects, processor_name(), result_console(), allowed_by_noise(times(drawn)))
        print_orders(orders, processor_name(), result_console())
    return 0


def _write(document: dict[str, Any]) -> None:
    """As JSON: what no figure can be given for is null."""
    from kernsmith.document.text import as_plain

    text = json_text.dumps(as_plain(document), indent=2, allow_nan=False)
    sys.stdout.write(text + "\n")


def apart(
    rows: Sequence[Row], modelled: Sequence[float] | None = None
) -> tuple[list[Row], tuple[OrderEffect, ...]]:
    """The rows that builds and layouts are compared by, and what orders are worth.

    modelled: a model's cycles of each row.
    """
    from kernsmith.engine.silicon import times
    from kernsmith.stats.orders import is_made, order_effects

    drawn = [row for row in rows if not is_made(row.layout)]
    return drawn, order_effects(times(rows), modelled)


def _document(
    agreement: Agreement, processor: str, cpu: str, depth: str, runs: int
) -> dict[str, Any]:
    shares = {"builds": agreement.builds.share, "layouts": agreement.layouts.share}
    return {
        "version": 1,
        "processor": processor,
        "cpu": Path(cpu).stem,
        "depth": depth,
        "runs": runs,
        "right_signs": shares,
        "mean_error": agreement.mean_error,
        "worst_error": agreement.worst_error,
        "rank_correlation": agreement.correlation,
        "rank_correlation_allowed": agreement.allowed,
        **asdict(agreement),
    }
