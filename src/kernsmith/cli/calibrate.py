# SPDX-License-Identifier: GPL-2.0-or-later
"""`kernsmith cpu calibrate`: fit what a vendor does not disclose, on programs that do not judge."""

from __future__ import annotations

import json as json_text
import sys
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from kernsmith.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kernsmith.engine.calibration import Fit, Traced
    from kernsmith.engine.silicon import Row, Simulated
    from kernsmith.machine.held import Held
    from kernsmith.stats.agreement import Agreement

_EVERY = 16


def calibrate(
    model: Path,
    /,
    *,
    output: Annotated[Path | None, Parameter(name=("--output", "-o"))] = None,
    program: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    build: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    layouts: int = 16,
    others: int = 2,
    runs: int = 25,
    rounds: int = 3,
    measured: Path | None = None,
    json: bool = False,
) -> int:
    """Fit a CPU model's undisclosed figures to times on this processor, and judge the fit.

    The programs of `kernsmith silicon` are in two halves. Figures that one half has found are
    judged on the other half, and the other way round: what is told of the model's truth is of
    programs that did not calibrate it. Then the figures are fitted to all programs and written,
    with that judgement as the table [silicon] of the file; reports carry it.

    Fitted are what resolving a misprediction takes, what data cost a micro-op, what a branch costs
    that no buffer knows, the switch to the decoders, and the latencies of the branch target
    buffers. Sizes and widths are the vendor's and stay.

    Examples:

        kernsmith cpu calibrate cpus/emeraldrapids.toml -o calibrated.toml

        kernsmith cpu calibrate mine.toml --program lua --program tcc --build Os --rounds 2

    Parameters
    ----------
    model
        The model's file (TOML), with a decoupled front end.
    output
        Where the calibrated model goes; default: only told, nothing written.
    program
        Programs to use, two or more; default: all.
    build
        Ways to compile them, beside the baseline O2; default: all.
    layouts
        Random layouts of the baseline.
    others
        Random layouts of each other build.
    runs
        Runs of each binary; times that are known are not measured again.
    rounds
        How often the figures are probed anew.
    measured
        The table of times (CSV); default: this processor's, in the cache.
    json
        Print the result as JSON instead of tables.
    """
    from kernsmith.cli.outcome import result_console
    from kernsmith.cli.progress import ProgressDisplay
    from kernsmith.engine.calibration import Calibration, halves, read_values, with_values
    from kernsmith.engine.silicon import Bench, guest_kernel, measure, points, simulated, table_file
    from kernsmith.files import write_text
    from kernsmith.machine.held import with_held
    from kernsmith.machine.tcg import open_machine
    from kernsmith.report.silicon import print_agreement
    from kernsmith.silicon.builds import BASELINE, find_builds
    from kernsmith.silicon.programs import check_programs
    from kernsmith.silicon.timing import check_clock, processor_name
    from kernsmith.stats.agreement import judge

    if output is not None and not output.absolute().parent.is_dir():
        raise UserError(f"--output {output}: there is no folder {output.parent}")
    if rounds < 1 or layouts < 0 or others < 0:
        raise UserError("calibrate needs --rounds 1 or more, and no negative layouts")
    if len(find_builds(build)) < 2:
        raise UserError("calibrate needs a --build beside the baseline: its ratio is what counts")
    check_clock()
    programs = check_programs(program)
    parts = halves(programs)
    machine = open_machine(str(model))
    text = machine.cpu.read_text(encoding="utf-8")
    read_values(text)
    bench = Bench(programs, find_builds(build), layouts, others, runs)
    with ProgressDisplay() as display:
        rows, binaries = measure(bench, measured or table_file(), display)
        made = [binary for one in binaries.values() for binary in one]
        kernel = guest_kernel(display)
        traced = _traced(rows, simulated(machine, kernel, made, display, every=_EVERY))
        calibration = Calibration(text, traced, rounds, display)
        display.stage("fitting")
        fits = [calibration.fit(half) for half in parts]
        cycles: dict[str, float] = {}
        for fit, others_ in zip(fits, reversed(parts), strict=True):
            cycles |= calibration.judged(fit, others_)
        whole = calibration.fit(programs)
    by_digest = {row.digest: cycles[str(one.trace)] for row, one in zip(rows, traced, strict=True)}
    agreement = judge(points(rows, lambda row: by_digest[row.digest]), BASELINE, factor=1.0)
    held = _held(agreement, processor_name(), whole)
    new = with_held(with_values(text, whole.values), held)
    if output is not None:
        write_text(output, new)
    if json:
        sys.stdout.write(json_text.dumps(_document(agreement, fits, whole, held), indent=2) + "\n")
        return 0
    console = result_console()
    print_agreement(agreement, processor_name(), model.stem, console)
    for fit in (*fits, whole):
        console.print(_words(fit), soft_wrap=True, markup=False)
    return 0


def _traced(rows: Sequence[Row], binaries: Mapping[str, Simulated]) -> list[Traced]:
    """The binaries in the order of their rows, with what was measured and modelled of each."""
    from kernsmith.engine.calibration import Traced
    from kernsmith.machine.metrics import MODEL_CYCLES
    from kernsmith.silicon.builds import BASELINE
    from kernsmith.stats.calibration import Case

    found = []
    for row in rows:
        one = binaries[row.digest]
        assert one.part is not None
        case = Case(row.program, row.build, row.build == BASELINE, row.cycles)
        found.append(Traced(case, one.part, one.counters[MODEL_CYCLES]))
    return found


def _held(agreement: Agreement, processor: str, fit: Fit) -> Held:
    from kernsmith.machine.held import Held

    share = agreement.builds.share
    return Held(
        processor=processor,
        measured=f"{date.today():%Y-%m}",
        programs=len(fit.programs),
        calibrated=len(fit.names),
        cycles_percent=round(100 * agreement.cycles, 1),
        ratio_points=round(agreement.mean_error, 1),
        worst_points=round(agreement.worst_error, 1),
        sign_percent=None if share is None else round(100 * share),
        rank_correlation=round(agreement.correlation, 2),
        rank_allowed=round(agreement.allowed, 2),
    )


def _words(fit: Fit) -> str:
    values = ", ".join(f"{n} {v:.3g}" for n, v in zip(fit.names, fit.values, strict=True))
    return f"calibrated on {', '.join(fit.programs)}: {values}"


def _document(agreement: Agreement, fits: Sequence[Fit], whole: Fit, held: Held) -> dict[str, Any]:
    from dataclasses import asdict

    def told(fit: Fit) -> dict[str, Any]:
        return {"programs": fit.programs, "values": dict(zip(fit.names, fit.values, strict=True))}

    return {
        "version": 1,
        "halves": [told(fit) for fit in fits],
        "all": told(whole),
        "held": held.model_dump(),
        "judged": asdict(agreement),
    }
