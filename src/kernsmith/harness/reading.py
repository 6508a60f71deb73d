# SPDX-License-Identifier: GPL-2.0-or-later
"""From the files of a harness to groups of values, as an analysis wants them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from kernsmith.csvfile import Reading
from kernsmith.errors import UserError
from kernsmith.harness.protocol import Format, Malformed, Measure, Row, Table
from kernsmith.harness.recognition import recognise
from kernsmith.harness.units import in_one_unit
from kernsmith.stats.benchmarks import Better
from kernsmith.stats.samples import Sample, Stratum

FILE, BENCHMARK = "file", "benchmark"
_MOST_NAMES = 20


@dataclass(frozen=True)
class Asked:
    """What the user says of the files; empty or None: what the format suggests.

    value: a metric. by, within: labels, `file` or `benchmark`.
    """

    value: str | None = None
    by: tuple[str, ...] = ()
    within: str | None = None


@dataclass(frozen=True)
class HarnessReading:
    """Values of one metric.

    by: labels that make the groups. within: what the strata are; None for a single one without a
        name. better: None where the format does not say.
    """

    reading: Reading
    value: str
    by: tuple[str, ...]
    within: str | None
    better: Better | None


@dataclass(frozen=True)
class _All:
    """The rows of all files, each with the label `file`."""

    format: Format
    tables: tuple[Table, ...]
    rows: tuple[Row, ...]

    @property
    def labels(self) -> list[str]:
        """What may stand behind --by and --within."""
        found = dict.fromkeys(label for row in self.rows for label in row.labels)
        return [*found, BENCHMARK]


def read_harness(files: Sequence[Path], asked: Asked) -> HarnessReading | None:
    """What a harness wrote, in one file or in several; None where none of them is of a harness.

    Raises:
        UserError: a broken file, files of different harnesses, or a metric or label that is not
            there; one sentence.
    """
    found = [(path, recognise(path)) for path in files]
    known = [(path, *each) for path, each in found if each is not None]
    if not known:
        return None
    first, format_of_first, _ = known[0]
    for path, each in found:
        if each is None:
            raise UserError(
                f"{path} is of none of the harnesses that are read, and {first} is of "
                f"{format_of_first.name}: compare files of one harness"
            )
    for path, format_of, _ in known:
        if format_of is not format_of_first:
            raise UserError(
                f"{first} is of {format_of_first.name}, {path} of {format_of.name}: "
                "compare files of one harness"
            )
    names = _file_names([path for path, _, _ in known])
    tables = tuple(_own_labels(table) for _, _, table in known)
    rows = tuple(
        replace(row, labels={FILE: name, **row.labels})
        for name, table in zip(names, tables, strict=True)
        for row in table.rows
    )
    everything = _All(format_of_first, tables, rows)
    return _reading(first, everything, asked)


def _own_labels(table: Table) -> Table:
    """A table whose labels are called neither `file` nor `benchmark`, which mean something else."""
    clashing = {label for row in table.rows for label in row.labels} & {FILE, BENCHMARK}
    if not clashing:
        return table
    new = {label: f"{label} (label)" for label in sorted(clashing)}

    def renamed(labels: Iterable[str]) -> tuple[str, ...]:
        return tuple(new.get(label, label) for label in labels)

    rows = (
        replace(row, labels={new.get(key, key): level for key, level in row.labels.items()})
        for row in table.rows
    )
    told = (f"the label {old!r} of the file is called {name!r} here" for old, name in new.items())
    return replace(
        table, rows=tuple(rows), groups=renamed(table.groups), identity=renamed(table.identity),
        apart=renamed(table.apart), settings=renamed(table.settings),
        notes=(*table.notes, *told),
    )  # fmt: skip


def _reading(path: Path, everything: _All, asked: Asked) -> HarnessReading:
    measure, notes = _measure(path, everything, asked.value)
    rows = [row for row in everything.rows if row.measure.name == measure.name]
    try:
        rows, converted = in_one_unit(rows)
    except Malformed as error:
        raise UserError(f"{path}: {error}") from None
    if unit := rows[0].measure.unit:
        converted.append(f"{measure.name!r} is in {unit}")
    notes = [*converted, *notes]
    by = asked.by or _groups(everything)
    for label in (*by, *([asked.within] if asked.within else [])):
        if label not in everything.labels:
            raise UserError(f"{path} has no {label!r}; it has {', '.join(everything.labels)}")
    if asked.within in by:
        raise UserError(f"{asked.within!r} cannot be both of --by and --within")
    left = [row for row in rows if all(_level(row, label) for label in by)]
    if not left:
        raise UserError(f"{path} has no value of {measure.name!r} with a level of {by[0]!r}")
    if len(left) < len(rows):
        notes.append(f"{len(rows) - len(left)} values without a level were left out")
    strata = _strata(left, by, _identity(everything, left, by, asked.within))
    named = all(stratum.name for stratum in strata)
    ordered = len(everything.tables) == 1 and everything.tables[0].ordered
    told = dict.fromkeys([*(note for table in everything.tables for note in table.notes), *notes])
    return HarnessReading(
        Reading(strata, (f"read as {everything.format.name}", *told), ordered),
        value=measure.name,
        by=by,
        within=(asked.within or BENCHMARK) if named else None,
        better=measure.better,
    )


def _measure(path: Path, everything: _All, asked: str | None) -> tuple[Measure, list[str]]:
    """The metric that is asked for, or that the format thinks most of."""
    measures = {row.measure.name: row.measure for row in everything.rows}
    names = list(measures)
    shown = ", ".join(repr(name) for name in names[:_MOST_NAMES])
    shown += ", …" if len(names) > _MOST_NAMES else ""
    if asked is not None:
        if asked not in measures:
            raise UserError(f"{path} has no metric {asked!r}; it has {shown}")
        return measures[asked], []
    headline = everything.tables[0].headline
    if headline is None and len(names) == 1:
        headline = names[0]
    if headline is None:
        raise UserError(f"{path} has {len(names)} metrics; name one with --value: {shown}")
    others = [repr(name) for name in names if name != headline]
    if not others:
        return measures[headline], []
    listed = ", ".join(others[:_MOST_NAMES]) + (", …" if len(others) > _MOST_NAMES else "")
    return measures[headline], [f"the file also has {listed}; --value chooses"]


def _groups(everything: _All) -> tuple[str, ...]:
    """What the harness compares; of several files the files, unless groups have own names."""
    groups = everything.tables[0].groups
    if not groups:
        return (FILE,)
    if len(everything.tables) == 1:
        return groups
    if not everything.tables[0].spanning:
        return (FILE,)
    levels = [{_group(row, groups) for row in table.rows} for table in everything.tables]
    return groups if sum(map(len, levels)) == len(set().union(*levels)) else (FILE,)


def _identity(
    everything: _All, rows: Sequence[Row], by: Sequence[str], within: str | None
) -> list[str]:
    """What tells strata apart: no values of different benchmarks ever come into one group."""
    tables = everything.tables
    named = [label for table in tables for label in (*table.groups, *table.identity)]
    wanted = dict.fromkeys([within or BENCHMARK, BENCHMARK, *named])
    found = [label for label in wanted if label not in by]
    apart = dict.fromkeys(label for table in tables for label in table.apart)
    found += [label for label in apart if label not in by and _differs(rows, label, found)]
    for label in dict.fromkeys(label for table in tables for label in table.settings):
        if label not in by and _differs(rows, label, [FILE, *by, *found]):
            found.append(label)
    return found


def _differs(rows: Sequence[Row], label: str, within: Sequence[str]) -> bool:
    """Whether a label has several levels among rows that agree in others."""
    seen: dict[tuple[str, ...], str] = {}
    return any(
        seen.setdefault(_group(row, within), _level(row, label)) != _level(row, label)
        for row in rows
    )


def _strata(rows: Sequence[Row], by: Sequence[str], identity: Sequence[str]) -> tuple[Stratum, ...]:
    parts: dict[str, list[Row]] = {}
    for row in rows:
        name = " ".join(filter(None, (_part(row, label) for label in identity)))
        parts.setdefault(name, []).append(row)
    return tuple(_stratum(name or None, part, by) for name, part in parts.items())


def _stratum(name: str | None, rows: Sequence[Row], by: Sequence[str]) -> Stratum:
    groups: dict[tuple[str, ...], list[int]] = {}
    for position, row in enumerate(rows):
        groups.setdefault(_group(row, by), []).append(position)
    return Stratum.of(
        name,
        [
            Sample(
                levels=levels,
                values=np.array([rows[place].value for place in places], dtype=float),
                position=np.array(places, dtype=np.int64),
                row=np.array([rows[place].line for place in places], dtype=np.int64),
            )
            for levels, places in groups.items()
        ],
    )


def _group(row: Row, by: Sequence[str]) -> tuple[str, ...]:
    return tuple(_level(row, label) for label in by)


def _part(row: Row, label: str) -> str:
    """Of a stratum's name."""
    level = _level(row, label)
    return level if label == BENCHMARK or not level else f"{label}={level}"


def _level(row: Row, label: str) -> str:
    return row.benchmark if label == BENCHMARK else row.labels.get(label, "")


def _file_names(files: Sequence[Path]) -> list[str]:
    """Each file's name, with as much of its folders as tells it from the others."""
    for parts in range(1, max(len(path.parts) for path in files) + 1):
        names = ["/".join(path.parts[-parts:]) for path in files]
        if len(set(names)) == len(names):
            return names
    twice = next(path for path in files if files.count(path) > 1)
    raise UserError(f"{twice} is given twice")
