# SPDX-License-Identifier: GPL-2.0-or-later
"""The silicon bench: programs in many builds and layouts, timed here and simulated in `tcg`.

A program's binaries are timed together and written down together; what is written down is not
timed again, so a bench that was killed goes on with the next program.
"""

from __future__ import annotations

import csv
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from io import StringIO
from math import inf
from pathlib import Path
from statistics import median

from kernsmith import paths
from kernsmith.engine.events import Events
from kernsmith.engine.silicon_orders import Maker, link_orders
from kernsmith.errors import UserError
from kernsmith.files import locked, replacing, use, write_text
from kernsmith.foreign import read_text
from kernsmith.kernel.artifact import file_digest
from kernsmith.kernel.build import build_kernel
from kernsmith.kernel.recipe import make_recipe
from kernsmith.kernel.source import resolve_source
from kernsmith.kernel.toolchain import default_compiler, find_compiler
from kernsmith.machine.tcg import Tcg, open_machine
from kernsmith.profile.counts import BranchCounts
from kernsmith.silicon.binaries import Binary, compiler_of, layout_names, link_layouts
from kernsmith.silicon.builds import BASELINE, Build
from kernsmith.silicon.profiles import Trainer, compile_build
from kernsmith.silicon.programs import find_program
from kernsmith.silicon.shared_core import PATIENCE
from kernsmith.silicon.simulation import branch_counts, simulate
from kernsmith.silicon.timing import (
    METHOD,
    TUNABLES,
    Timed,
    all_cores,
    processor_file_name,
    time_binaries,
)
from kernsmith.stats.agreement import Measured, Point, with_modelled
from kernsmith.study import Study, digest_of, plan_variants
from kernsmith.threads import each_of, threads

_COLUMNS = (
    "program", "build", "layout", "digest", "runs", "alone", "cycles", "first_half", "second_half",
)  # fmt: skip
_DISTURBED = 0.03
"""By what part the median of the runs is longer, before that is told."""
# Counts are the same on every model.
_TRAINED_ON = "emeraldrapids"


@dataclass(frozen=True)
class Bench:
    """What is to be measured.

    layouts: random ones of the baseline; others: of every other build. runs: of each binary.
    patience: seconds for which a program's binaries wait for a core of their own.
    orders: of functions, made from the program's own run (`best_order.ORDERS`), in which each build
        is linked as well that has no order of its own. machine: whose CPU model they are made for.
    """

    programs: tuple[str, ...]
    builds: tuple[Build, ...]
    layouts: int
    others: int
    runs: int
    orders: tuple[str, ...] = ()
    machine: Tcg | None = None
    patience: float = PATIENCE


@dataclass(frozen=True)
class Row:
    """A binary's time in cycles of the core, of all runs and of two halves. alone: runs for which
    nobody shared the core or interrupted it often."""

    program: str
    build: str
    layout: str
    digest: str
    runs: int
    alone: int
    cycles: float
    first_half: float
    second_half: float


def table_file() -> Path:
    """The table of this processor's times, in the cache."""
    return paths.cache_root() / "programs" / f"times-{METHOD}-{processor_file_name()}.csv"


def make_binaries(bench: Bench, program: str, events: Events) -> list[Binary]:
    """Fetch, compile and link all of a program's binaries; what is there is taken. What trains by
    branch counts does so in the `tcg` machine.

    Raises:
        UserError: a source cannot be fetched; ProgramMissing: a compiler is not installed.
    """

    train = trainer(program, events)
    linker = find_compiler(default_compiler())
    source = find_program(program, events.note)
    made: list[Binary] = []
    maker = None
    if bench.orders and bench.machine:
        maker = Maker(bench.machine, guest_kernel(events), linker)
    events.stage(f"{program}: building")
    builds = [build for build in bench.builds if source.takes(build)]
    for number, build in enumerate(builds):
        objects = compile_build(source, build, compiler_of(build), linker, train)
        count = bench.layouts if build.name == BASELINE else bench.others
        made += link_layouts(objects, layout_names(count), linker)
        if maker and objects.order is None:
            made += link_orders(objects, bench.orders, maker, events)
        events.progress(f"builds of {program}", number + 1, len(builds))
    return made


def trainer(program: str, events: Events) -> Trainer:
    """Runs binaries in the `tcg` machine, where every branch is counted."""

    def train(binary: Binary) -> BranchCounts:
        events.stage(f"{program}: training {binary.build}")
        counts = branch_counts(open_machine(_TRAINED_ON), guest_kernel(events), binary)
        events.stage(f"{program}: building")
        return counts

    return train


def measure(bench: Bench, file: Path, events: Events) -> tuple[list[Row], dict[str, list[Binary]]]:
    """Time all binaries of each program that `file` does not tell as timed together, and add them.

    file: a table (CSV) of `Row`s, for this processor; builds that came out as one binary share its
    time. Returns the rows of this bench, as its builds and layouts are called, and the binaries by
    program.

    Raises:
        UserError: the file is no such table, or this processor cannot time programs.
    """
    read_rows(file)  # what is no table is told before an hour of work, not after
    if (load := os.getloadavg()[0]) > 1:
        events.note(f"this machine is busy (load {load:.1f}): times will be noisier")
    binaries: dict[str, list[Binary]] = {}
    rows: list[Row] = []
    for program in bench.programs:
        binaries[program] = made = make_binaries(bench, program, events)
        digests = [file_digest(binary.path) for binary in made]
        known = _known_together(read_rows(file), set(digests), bench.runs)
        if not known:
            events.stage(f"{program}: {len(made)} binaries on this processor")
            known = _timed_now(dict(zip(digests, made, strict=True)), bench, events)
            _append(file, list(known.values()))
            if shared := sum(row.runs - row.alone for row in known.values()):
                events.note(
                    f"{program}: others had a part of the core in {shared} of "
                    f"{sum(row.runs for row in known.values())} runs: these times are longer; "
                    "--patience waits for better ones"
                )
        rows += [
            replace(known[digest], program=program, build=binary.build, layout=binary.layout)
            for binary, digest in zip(made, digests, strict=True)
        ]
    return rows, binaries


def _known_together(rows: Sequence[Row], digests: set[str], runs: int) -> dict[str, Row]:
    """Rows of these binaries, by digest, from the latest time at which all of them were timed, so
    often at least; none when they never were.

    What else a machine does is another thing on another day: times of two days are no ratio.
    """
    sets: list[dict[str, Row]] = []
    for row in rows:
        # A set is written down at once, and has no binary twice.
        last = next(iter(sets[-1].values())) if sets else None
        if last is None or last.program != row.program or row.digest in sets[-1]:
            sets.append({})
        sets[-1][row.digest] = row
    for one in reversed(sets):
        if all(digest in one and one[digest].runs >= runs for digest in digests):
            return one
    return {}


def _timed_now(binaries: Mapping[str, Binary], bench: Bench, events: Events) -> dict[str, Row]:
    """Time binaries, given and returned by their digests."""

    def told(done: int) -> None:
        events.progress("runs of each", done, bench.runs)

    cores = all_cores(bench.patience, events.note)
    timed = time_binaries(list(binaries.values()), bench.runs, told, cores)
    disturbed = median(one.disturbed for one in timed)
    if disturbed > _DISTURBED:
        events.note(
            f"something (another guest, interrupts) makes the median of {bench.runs} runs "
            f"{disturbed:.0%} longer than what nothing disturbed: more runs make times surer"
        )
    return {digest: _row(one, digest) for digest, one in zip(binaries, timed, strict=True)}


def read_rows(file: Path) -> list[Row]:
    """The table's rows; none when there is no such file.

    Raises:
        UserError: it is another kind of file.
    """
    if not file.exists():
        return []
    reader = csv.DictReader(StringIO(read_text(file, "the table"), newline=""))
    try:
        columns = tuple(reader.fieldnames or ())
        if columns == tuple(name for name in _COLUMNS if name != "alone"):
            raise UserError(
                f"{file} is of a version that did not ask whether a neighbour shared the core: its "
                "times cannot go on; give another file"
            )
        if columns != _COLUMNS:
            raise UserError(f"{file} is no table of `kernsmith silicon`: it needs {_COLUMNS}")
        return [
            Row(
                line["program"], line["build"], line["layout"], line["digest"],
                int(line["runs"]), int(line["alone"]), _cycles(line["cycles"]),
                _cycles(line["first_half"]), _cycles(line["second_half"]),
            )
            for line in reader
        ]  # fmt: skip
    except (TypeError, ValueError, csv.Error) as error:
        raise UserError(f"{file}, line {reader.line_num}: {error}") from None


def _cycles(text: str) -> float:
    """Raises ValueError: it is no number of cycles."""
    cycles = float(text)
    if not 0 < cycles < inf:
        raise ValueError(f"cycles are more than 0, not {text!r}")
    return cycles


def _row(timed: Timed, digest: str) -> Row:
    binary, runs = timed.binary, len(timed.units)
    return Row(
        binary.program, binary.build, binary.layout, digest, runs, timed.alone, timed.cycles,
        *timed.halves,
    )  # fmt: skip


def _append(file: Path, new: Sequence[Row]) -> None:
    rows = [*read_rows(file), *new]
    with replacing(file) as path, path.open("w", newline="", encoding="utf-8") as table:
        writer = csv.writer(table, lineterminator="\n")
        writer.writerow(_COLUMNS)
        for row in rows:
            cycles = (f"{value:.0f}" for value in (row.cycles, row.first_half, row.second_half))
            what = (row.program, row.build, row.layout, row.digest, row.runs, row.alone)
            writer.writerow((*what, *cycles))


def guest_kernel(events: Events, source: str = "debian:7.3") -> Path:
    """A kernel that starts programs: the micro config's, the one that `optimize` trains on."""
    events.stage("the kernel of the guest")
    found = resolve_source(source, paths.sources())
    study = Study(source=source, config="micro", factors=(("profile", ("none",)),))
    recipe = make_recipe(plan_variants(study, ())[0], found)

    def progress(done: int, of: int) -> None:
        events.progress("objects", done, of)

    return build_kernel(recipe, on_progress=progress).vmlinux


@dataclass(frozen=True)
class Simulated:
    """A binary in the `tcg` machine.

    counters: all metrics. trace: of all that it executes, where that was asked.
    """

    counters: dict[str, float]
    trace: Path | None


def simulated(
    machine: Tcg, kernel: Path, binaries: Sequence[Binary], events: Events, *, traced: bool = False
) -> dict[str, Simulated]:
    """Each binary by its digest; what was simulated before is read.

    traced: keep the trace of what it executes, too, of some 3 to 14 MB; until this process ends,
        these are in use.
    """
    events.stage(f"{len(binaries)} binaries in the tcg machine")
    found: dict[str, Simulated] = {}

    def one(binary: Binary) -> None:
        digest = file_digest(binary.path)
        found[digest] = _simulated(machine, kernel, binary, digest, traced)
        events.progress("simulated", len(found), len(binaries))

    with threads(os.cpu_count() or 1) as pool:
        each_of(pool, one, binaries)
    return found


def _simulated(machine: Tcg, kernel: Path, binary: Binary, digest: str, traced: bool) -> Simulated:
    of = [file_digest(kernel), digest, TUNABLES]
    kept = paths.cache_root() / "programs"
    folder = kept / "counts" / digest_of([machine.fingerprint(), *of])[:32]
    known = folder / "counters.known.json"
    executed = digest_of([machine.fingerprint()["tracer"], *of])[:32]
    trace = kept / "traces" / f"{executed}.trace" if traced else None
    if trace:
        trace.parent.mkdir(parents=True, exist_ok=True)
        use(trace.parent)
    with locked(folder / "begun"):
        if not known.exists() or (trace and not trace.exists()):
            with tempfile.TemporaryDirectory() as booted:
                outcome = simulate(machine, kernel, binary, Path(booted), trace=traced)
                if trace:
                    with replacing(trace) as path:
                        shutil.copyfile(Path(booted) / "blocks.trace", path)
            figures = {name: value for name, (value, _) in outcome.metrics.items()}
            write_text(known, json.dumps(figures))
        counters: dict[str, float] = json.loads(known.read_text())
    return Simulated(counters, trace)


def times(rows: Sequence[Row]) -> list[Measured]:
    """Rows as the statistics take them."""
    return [
        Measured(row.program, row.build, row.layout, row.cycles, row.first_half, row.second_half)
        for row in rows
    ]


def points(rows: Sequence[Row], modelled: Callable[[Row], float]) -> list[Point]:
    """Measured and modelled figures side by side, for `stats.agreement`."""
    return with_modelled(times(rows), [modelled(row) for row in rows])
