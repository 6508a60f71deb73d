# SPDX-License-Identifier: GPL-2.0-or-later
"""`kernsmith cpu calibrate`: fit what a vendor does not disclose, on programs that do not judge."""

from __future__ import annotations

import json as json_text
import sys
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from kernsmith.cli.output import NewFile, OutputFile, check_outputs
from kernsmith.errors import UserError
from kernsmith.foreign import read_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernsmith.cli.progress import ProgressDisplay
    from kernsmith.engine.calibration import Calibrated, Fit
    from kernsmith.machine.held import Held
    from kernsmith.report.silicon import Subject
    from kernsmith.stats.agreement import Agreement, Point

_LAYOUTS, _OTHERS, _RUNS = 16, 2, 25
_FEWEST_LAYOUTS = 3


def calibrate(
    model: Path,
    /,
    *,
    study: Path | None = None,
    output: OutputFile | None = None,
    judged: NewFile | None = None,
    program: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    build: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    layouts: int | None = None,
    others: int | None = None,
    runs: int | None = None,
    patience: float | None = None,
    rounds: int = 3,
    keep: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    measured: Path | None = None,
    ledger: str | None = None,
    json: bool = False,
) -> int:
    """Fit a CPU model's undisclosed figures to times on a processor, and judge the fit.

    The programs of `kernsmith silicon` are in two halves, and are timed on this processor. Figures
    that one half has found are judged on the other half, and the other way round: what is told of
    the model's truth is of programs that did not calibrate it. Then the figures are fitted to all
    programs and written, with that judgement as the table [silicon] of the file; reports carry it.

    With --study, what a real machine has measured of kernels takes the place of programs: a study
    on tcg and on one of kvm, ssh:HOST and self, whose workloads are in two halves. It was run
    before: nothing is measured again.

    Fitted are the width that programs sustain, what resolving a misprediction takes, what data cost
    a micro-op, what a branch costs that no buffer knows, the switch to the decoders, and the
    latencies of the branch target buffers. Sizes stay. So does what --keep names: what was measured
    in another way need not be guessed.

    Examples:

        kernsmith cpu calibrate cpus/emeraldrapids.toml -o calibrated.toml --judged judged.csv

        kernsmith cpu calibrate mine.toml --program lua --program tcc --build Os --rounds 2

        kernsmith cpu calibrate mine.toml --keep buffers.l1 --keep buffers.l2 -o new.toml

        kernsmith run both.toml && kernsmith cpu calibrate mine.toml --study both.toml -o new.toml

    Parameters
    ----------
    model
        The model's file (TOML), with a decoupled front end.
    study
        A study's file with two machines, of two variants or more in four layouts or more.
    output
        Where the calibrated model goes; default: only told, nothing written.
    judged
        Where what the model was judged by goes (CSV): what each binary in each layout took, and
        what the model says of it by the half that it is not of.
    program
        Programs to use, two or more; default: all.
    build
        Ways to compile them, beside the baseline O2; default: all.
    layouts
        Random layouts of the baseline, three or more; default: 16.
    others
        Random layouts of each other build; default: 2.
    runs
        Runs of each binary; times that are known are not measured again; default: 25.
    patience
        Seconds for which a program's binaries wait for a core that no neighbour shares and that is
        seldom interrupted; default: 120.
    rounds
        How often the figures are probed anew.
    keep
        A figure that stays as it is in the file, as `fetch.decode_steer_cycles` or `buffers.l1`.
    measured
        The table of times (CSV); default: this processor's, in the cache.
    ledger
        URL of the ledger that has the study; default: SQLite in the cache.
    json
        Print the result as JSON instead of tables.
    """
    from kernsmith.cli.console import result_console
    from kernsmith.cli.progress import ProgressDisplay
    from kernsmith.engine.calibration import read_values, with_values
    from kernsmith.files import write_text
    from kernsmith.machine.held import with_held
    from kernsmith.machine.models import check_model, model_path
    from kernsmith.report.silicon import points_table, print_agreement
    from kernsmith.silicon.shared_core import check_patience

    for word, file in (("--output", output), ("--judged", judged)):
        if file is not None and not file.absolute().parent.is_dir():
            raise UserError(f"{word} {file}: there is no folder {file.parent}")
    if rounds < 1:
        raise UserError("calibrate needs --rounds 1 or more")
    waits = check_patience(patience)
    path = model_path(str(model))
    check_model(path)
    check_outputs([output, judged], [path, *(each for each in (study, measured) if each)])
    text = read_text(path, "the CPU model")
    times: Callable[[ProgressDisplay], _Found]
    if study is not None:
        words = (
            "--program", "--build", "--layouts", "--others", "--runs", "--patience", "--measured",
        )  # fmt: skip
        values = (program, build, layouts, others, runs, patience, measured)
        for word, value in zip(words, values, strict=True):
            if value not in (None, ()):
                raise UserError(f"{word} is of programs: a study says itself what was measured")
        times = _by_study(study, path, ledger, rounds, keep)
    else:
        if ledger is not None:
            raise UserError("--ledger goes with --study: times of programs are in a table")
        counts = tuple(
            default if value is None else value
            for value, default in ((layouts, _LAYOUTS), (others, _OTHERS), (runs, _RUNS))
        )
        times = _by_programs(model, program, build, counts, waits, measured, rounds, keep)
    read_values(text, keep)
    with ProgressDisplay() as display:
        found = times(display)
    whole = found.calibrated.whole
    held = _held(found, whole)
    new = with_held(with_values(text, whole.values, keep), held)
    if output is not None:
        write_text(output, new)
    if judged is not None:
        write_text(judged, points_table(found.points, found.subject))
    if json:
        sys.stdout.write(json_text.dumps(_document(found, held), indent=2) + "\n")
        return 0
    console = result_console()
    print_agreement(found.agreement, found.processor, model.stem, console, found.subject)
    for fit in (*found.calibrated.halves, whole):
        console.print(_words(fit), soft_wrap=True, markup=False)
    return 0


@dataclass(frozen=True)
class _Found:
    """A calibration and its judgement, by these points. of: what its halves consist of."""

    calibrated: Calibrated
    points: list[Point]
    agreement: Agreement
    processor: str
    subject: Subject
    of: Literal["programs", "workloads"]


def _by_programs(
    model: Path,
    program: tuple[str, ...],
    build: tuple[str, ...],
    counts: tuple[int, ...],
    patience: float,
    measured: Path | None,
    rounds: int,
    keep: tuple[str, ...],
) -> Callable[[ProgressDisplay], _Found]:
    """By programs on this processor. counts: layouts, layouts of other builds, and runs. patience:
    in seconds."""
    from kernsmith.engine.calibration import Calibration, calibrated, halves
    from kernsmith.engine.calibration_programs import WarmTraces, timed_programs
    from kernsmith.engine.draws import over_draws
    from kernsmith.engine.silicon import Bench, guest_kernel, measure, points, simulated, table_file
    from kernsmith.machine.tcg import open_machine
    from kernsmith.report.silicon import PROGRAMS
    from kernsmith.silicon.builds import BASELINE, find_builds
    from kernsmith.silicon.programs import check_programs
    from kernsmith.silicon.timing import check_clock, processor_name
    from kernsmith.stats.agreement import judge

    layouts, others, runs = counts
    if layouts < _FEWEST_LAYOUTS:
        least = f"--layouts {_FEWEST_LAYOUTS} or more"
        raise UserError(f"calibrate needs {least}: how a model ranks layouts is judged, too")
    if others < 0:
        raise UserError("calibrate needs no negative --others")
    if len(find_builds(build)) < 2:
        raise UserError("calibrate needs a --build beside the baseline: its ratio is what counts")
    check_clock()
    programs = check_programs(program)
    parts = halves(programs)
    machine = open_machine(str(model))
    bench = Bench(programs, find_builds(build), layouts, others, runs, patience=patience)

    def times(display: ProgressDisplay) -> _Found:
        rows, binaries = measure(bench, measured or table_file(), display)
        made = [binary for one in binaries.values() for binary in one]
        kernel = guest_kernel(display)
        simulations = simulated(machine, kernel, made, display, traced=True)
        modelled = over_draws(machine, kernel, rows, made, simulations, display)
        timed = timed_programs(rows, simulations, modelled)
        text = read_text(machine.cpu, "the CPU model")
        simulate = WarmTraces(machine.cpu, [one.key for one in timed], display)
        display.stage("fitting")
        calibration = Calibration(text, timed, rounds, simulate, display, kept=keep)
        found = calibrated(calibration, parts)
        cycles = {row.digest: found.cycles[one.key] for row, one in zip(rows, timed, strict=True)}
        both = points(rows, lambda row: cycles[row.digest])
        judged = judge(both, BASELINE, factor=1.0)
        return _Found(found, both, judged, processor_name(), PROGRAMS, "programs")

    return times


def _by_study(
    file: Path, model: Path, ledger: str | None, rounds: int, keep: tuple[str, ...]
) -> Callable[[ProgressDisplay], _Found]:
    """By a study that was run. model: its path."""
    from kernsmith.engine.calibration import Calibration, calibrated, halves
    from kernsmith.engine.calibration_study import Replaying
    from kernsmith.engine.timed_study import read_timed
    from kernsmith.report.silicon import Subject
    from kernsmith.stats.agreement import judge, with_modelled
    from kernsmith.study.file import read_study

    asked = read_study(file)

    def times(display: ProgressDisplay) -> _Found:
        timed = read_timed(asked, model, ledger)
        parts = halves([work.name for work in timed.workloads], "workloads")
        replaying = Replaying(timed, display)
        text = read_text(model, "the CPU model")
        display.stage("fitting")
        calibration = Calibration(
            text,
            replaying.timed(),
            rounds,
            replaying,
            display,
            absolute=timed.absolute,
            kept=keep,
        )
        found = calibrated(calibration, parts)
        cycles = [found.cycles[cell.key] for cell in timed.cells]
        factor = 1.0 if timed.absolute else None
        both = with_modelled(timed.measured(), cycles)
        judged = judge(both, timed.baseline, factor)
        subject = Subject(
            "workload", "variant", timed.metric, timed.baseline, factor=not timed.absolute
        )
        return _Found(found, both, judged, timed.processor, subject, "workloads")

    return times


def _held(found: _Found, fit: Fit) -> Held:
    from kernsmith.machine.held import Held

    agreement, share = found.agreement, found.agreement.builds.share
    return Held(
        processor=found.processor,
        measured=f"{date.today():%Y-%m}",
        programs=len(fit.programs),
        of=found.of,
        calibrated=len(fit.names),
        cycles_percent=round(100 * agreement.cycles, 1),
        ratio_points=round(agreement.mean_error, 1),
        worst_points=round(agreement.worst_error, 1),
        sign_percent=None if share is None else round(100 * share),
        rank_correlation=round(agreement.correlation, 2),
        rank_allowed=round(agreement.allowed, 2),
        names=tuple(fit.programs),
    )


def _words(fit: Fit) -> str:
    values = ", ".join(f"{n} {v:.3g}" for n, v in zip(fit.names, fit.values, strict=True))
    return f"calibrated on {', '.join(fit.programs)}: {values}"


def _document(found: _Found, held: Held) -> dict[str, Any]:
    from dataclasses import asdict

    def told(fit: Fit) -> dict[str, Any]:
        return {found.of: fit.programs, "values": dict(zip(fit.names, fit.values, strict=True))}

    return {
        "version": 1,
        "halves": [told(fit) for fit in found.calibrated.halves],
        "all": told(found.calibrated.whole),
        "held": held.model_dump(),
        "judged": asdict(found.agreement),
    }
