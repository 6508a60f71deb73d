# SPDX-License-Identifier: GPL-2.0-or-later
"""Published tables: group, n, mean and standard deviation, without raw data."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import isnan, nan
from pathlib import Path

from kernsmith.csvfile.dialect import column_index, find_dialect
from kernsmith.csvfile.numbers import parse_numbers
from kernsmith.csvfile.reading import LINE, Reading, read_columns
from kernsmith.errors import UserError
from kernsmith.stats.samples import Stratum, Summary

_FIGURES = ("n", "mean", "sd")
_OPTIONAL = ("min", "median", "max")


@dataclass(frozen=True)
class _Row:
    line: int
    levels: tuple[str, ...]
    within: str | None
    figures: dict[str, float]


def read_summaries(
    path: Path, by: tuple[str, ...] = ("group",), within: str | None = None
) -> Reading:
    """One line a group with the columns ``n``, ``mean``, ``sd``, and what is in ``by``.

    ``min``, ``median`` and ``max`` are read where they exist. An empty ``sd`` means that it was
    not published: such groups have means and ratios, but no tests.

    Raises:
        UserError: one sentence on what is wrong with the file, the line or the column.
    """
    dialect = find_dialect(path)
    wanted = {f"by{index}": name for index, name in enumerate(by)}
    wanted |= {"within": within} if within is not None else {}
    wanted |= {name: name for name in _FIGURES}
    wanted |= {name: name for name in _OPTIONAL if name in dialect.columns}
    roles = {role: column_index(path, dialect.columns, name) for role, name in wanted.items()}
    frame = read_columns(path, dialect, roles, numbers=())
    if frame.is_empty():
        raise UserError(f"{path} has no rows below its header")
    notes: list[str] = []
    for name in (*_FIGURES, *_OPTIONAL):
        if name in frame.columns:
            values, found = parse_numbers(path, name, frame[name], frame[LINE])
            frame = frame.with_columns(values.alias(name))
            notes += found
    rows = [_row(path, record, len(by)) for record in frame.to_dicts()]
    return Reading(_strata(path, rows), tuple(notes))


def _row(path: Path, record: dict[str, object], factors: int) -> _Row:
    figures = {
        name: float(value) if isinstance(value, int | float) else nan
        for name, value in record.items()
        if name in (*_FIGURES, *_OPTIONAL)
    }
    line = record[LINE]
    assert isinstance(line, int)
    where = f"{path}, line {line}"
    if isnan(figures["mean"]):
        raise UserError(f"{where}: the group has no mean")
    if not figures["n"] >= 1 or figures["n"] != int(figures["n"]):
        raise UserError(f"{where}: n must be a whole number of at least 1")
    if figures["sd"] < 0:
        raise UserError(f"{where}: a standard deviation cannot be negative")
    _check_order(where, figures)
    levels = tuple(str(record[f"by{index}"] or "").strip() for index in range(factors))
    if not all(levels):
        raise UserError(f"{where}: the group has no name")
    within = record.get("within")
    return _Row(line, levels, None if within is None else str(within).strip(), figures)


def _check_order(where: str, figures: dict[str, float]) -> None:
    """min, median and max as they must lie, and the mean between; those that are there."""
    for names in (("min", "median", "max"), ("min", "mean", "max")):
        known = [(figures[name], name) for name in names if not isnan(figures.get(name, nan))]
        for (less, one), (more, other) in pairwise(known):
            if less > more:
                raise UserError(f"{where}: {one} is {less:g}, above {other}, which is {more:g}")


def _strata(path: Path, rows: list[_Row]) -> tuple[Stratum, ...]:
    strata: dict[str | None, dict[tuple[str, ...], Summary]] = {}
    for row in rows:
        groups = strata.setdefault(row.within, {})
        if row.levels in groups:
            raise UserError(
                f"{path}, line {row.line}: group {' × '.join(row.levels)!r} occurs twice; "
                "name what tells the two apart with --within or a further --by column"
            )
        figures = row.figures
        groups[row.levels] = Summary(
            levels=row.levels,
            n=int(figures["n"]),
            mean=figures["mean"],
            sd=figures["sd"],
            minimum=figures.get("min", nan),
            median=figures.get("median", nan),
            maximum=figures.get("max", nan),
        )
    return tuple(Stratum(name, tuple(groups.values())) for name, groups in strata.items())
