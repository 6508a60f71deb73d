# SPDX-License-Identifier: GPL-2.0-or-later
"""What `kernsmith measure` shows on a terminal, as sections of a page."""

from __future__ import annotations

from collections.abc import Sequence

from kernsmith.engine.measure import Measured
from kernsmith.machine.command import Ran
from kernsmith.machine.metrics import SECONDS, in_order, metric
from kernsmith.report.measure.document import names_of
from kernsmith.report.measure.words import cautions, comparison_sentence
from kernsmith.report.page import Bullets, Column, Heading, Kind, Section, Table, Value, Verdict
from kernsmith.stats.spread import spread_of


def measure_sections(measured: Measured) -> list[Section]:
    """The answers, the times, what the kernel counted, and the machine."""
    sections: list[Section] = []
    for each in measured.comparisons:
        kind: Kind = "neutral"
        if each.significant:
            kind = "better" if each.found.effect.ratio < 1 else "worse"
        sections.append(Verdict(comparison_sentence(each), kind))
    sections += [Heading("Times"), _times(measured), Heading("Counted"), _counted(measured)]
    told = cautions(measured)
    if told:
        sections += [Heading("What speaks against it"), Bullets(told)]
    return [*sections, Heading("Machine"), _machine(measured)]


def _times(measured: Measured) -> Table:
    columns = [
        Column("command"), Column("runs", "d"), Column("mean", ".6g", "s"),
        Column("SD", ".3g", "s"), Column("min", ".6g", "s"), Column("median", ".6g", "s"),
        Column("max", ".6g", "s"),
        Column("user", ".4g", "s"), Column("sys", ".4g", "s"),
    ]  # fmt: skip
    rows: list[list[Value]] = []
    for name, runs in measured.runs.items():
        real = spread_of([ran.metrics[SECONDS] for ran in runs])
        user, system = (_mean(runs, each) for each in ("user_seconds", "sys_seconds"))
        sd = real.sd if real.n > 1 else None
        rows.append([name, real.n, real.mean, sd, real.low, real.median, real.high, user, system])
    return Table(columns, rows)


def _counted(measured: Measured) -> Table:
    """Means of what is no time; a dash for what the runs of a command have not all."""
    known = {command: names_of(runs) for command, runs in measured.runs.items()}
    names = [name for name in in_order(set().union(*known.values())) if metric(name).unit != "s"]
    columns = [Column("command"), *(Column(name, ".6g", metric(name).unit) for name in names)]
    rows: list[list[Value]] = [
        [command, *(_mean(runs, name) if name in known[command] else None for name in names)]
        for command, runs in measured.runs.items()
    ]
    return Table(columns, rows)


def _mean(runs: Sequence[Ran], name: str) -> float:
    return spread_of([ran.metrics[name] for ran in runs]).mean


def _machine(measured: Measured) -> Table:
    kernel = measured.kernel
    known = f"{kernel.name} ({kernel.key[:20]})" if kernel.known else kernel.name
    rows: list[list[Value]] = [
        ["kernel", known],
        ["build id", kernel.running.build_id or "not told"],
        ["boot", kernel.running.boot],
    ]
    for each in measured.conditions:
        rows.append([each.name.replace("_", " "), each.value or "not told"])
    return Table([Column("condition"), Column("value")], rows)
