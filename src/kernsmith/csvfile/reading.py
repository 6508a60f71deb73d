# SPDX-License-Identifier: GPL-2.0-or-later
"""Raw values from a CSV file, by group and stratum."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from kernsmith.csvfile.dialect import Dialect, column_index, find_dialect
from kernsmith.csvfile.lines import first_lines
from kernsmith.csvfile.numbers import parse_numbers
from kernsmith.errors import UserError
from kernsmith.stats.samples import Sample, Stratum

_CLOCK = r"^(?<hours>\d{1,4}):(?<minutes>[0-5]\d)(?::(?<seconds>[0-5]\d(?:\.\d+)?))?$"
VALUE, ORDER, LINE, WITHIN = "value", "order", "line", "within"


@dataclass(frozen=True)
class Columns:
    """Which column is what. by: one factor or several."""

    value: str
    by: tuple[str, ...]
    within: str | None = None
    order: str | None = None


@dataclass(frozen=True)
class Reading:
    """What a file says.

    notes: what was left out or understood in a certain way; never silent.
    order_known: whether the run order is a column, or only the order of the rows.
    """

    strata: tuple[Stratum, ...]
    notes: tuple[str, ...]
    order_known: bool = False


def read_samples(path: Path, columns: Columns) -> Reading:
    """Groups of raw values, strata and groups in the order in which they appear.

    Rows without a value or without a level are left out and noted.

    Raises:
        UserError: one sentence on what is wrong with the file, the row or the column.
    """
    dialect = find_dialect(path)
    roles = _roles(path, dialect, columns)
    frame = read_columns(path, dialect, roles, numbers=(VALUE,))
    notes: list[str] = []
    if frame.is_empty():
        raise UserError(f"{path} has no rows below its header")
    values, found = parse_numbers(path, columns.value, frame[VALUE], frame[LINE])
    notes += found
    frame = frame.with_columns(values.alias(VALUE))
    frame = _complete(path, frame, columns, notes)
    frame = frame.with_columns(_positions(frame, columns, notes).alias(ORDER))
    strata = _strata(frame, columns)
    return Reading(strata, tuple(notes), columns.order is not None)


def _roles(path: Path, dialect: Dialect, columns: Columns) -> dict[str, int]:
    """Position in the file of each role's column."""
    wanted = {VALUE: columns.value}
    wanted |= {f"by{index}": name for index, name in enumerate(columns.by)}
    wanted |= {WITHIN: columns.within} if columns.within is not None else {}
    wanted |= {ORDER: columns.order} if columns.order is not None else {}
    if not columns.by:
        raise UserError("--by needs the name of at least one column")
    roles = {role: column_index(path, dialect.columns, name) for role, name in wanted.items()}
    used: dict[int, str] = {}
    for role, index in roles.items():
        if role != ORDER and index in used:
            raise UserError(
                f"column {dialect.columns[index]!r} cannot be two of --value, --by and --within"
            )
        used[index] = role
    return roles


def read_columns(
    path: Path, dialect: Dialect, roles: dict[str, int], numbers: tuple[str, ...]
) -> pl.DataFrame:
    """The columns of ``roles`` by role, and ``line``, the line of the file where their row begins.

    Columns in ``numbers`` are floats if every cell is one, else text.

    Raises:
        UserError: lines that do not fit the header, or a cell that is not UTF-8.
    """
    source: Path | io.BytesIO = path
    if dialect.utf16:
        text = path.read_bytes().decode("utf-16", "replace")
        source = io.BytesIO(text.encode("utf-8"))
    names = {f"column_{index + 1}": role for role, index in roles.items()}
    for types in (dict.fromkeys(numbers, pl.Float64), {}):
        schema = {
            name: types.get(names.get(name, ""), pl.String)
            for name in (f"column_{index + 1}" for index in range(len(dialect.columns)))
        }
        try:
            frame = pl.read_csv(
                source,
                has_header=False,
                skip_rows=dialect.header,
                separator=dialect.separator,
                eol_char=dialect.line_end,
                schema=schema,
                columns=sorted(set(roles.values())),
                encoding="utf8-lossy",
                missing_columns="insert",
                row_index_name=LINE,
                row_index_offset=dialect.header + 1,
                raise_if_empty=False,
            )
        # A field that is one quotation mark, in a column of numbers, makes polars 1 panic.
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            if not types:
                raise _misfit(path, dialect, error) from None
            continue
        by_role = [pl.col(f"column_{index + 1}").alias(role) for role, index in roles.items()]
        frame = frame.select(*by_role, pl.col(LINE).cast(pl.Int64))
        if lines := first_lines(path, dialect, len(frame)):
            frame = frame.with_columns(pl.Series(LINE, lines, dtype=pl.Int64))
        _refuse_other_encodings(path, frame)
        return frame.filter(~pl.all_horizontal(pl.col(*roles).is_null()))
    raise AssertionError("unreachable: the second schema returns or raises")


def _refuse_other_encodings(path: Path, frame: pl.DataFrame) -> None:
    """Of two names that are not UTF-8, both may be read as the same one."""
    texts = frame.select(pl.col(LINE), pl.col(pl.String))
    lossy = texts.filter(pl.any_horizontal(pl.col(pl.String).str.contains("\ufffd", literal=True)))
    if not lossy.is_empty():
        raise UserError(
            f"{path}, line {lossy[LINE][0]} is not UTF-8: save the file in this encoding "
            f"(of one in Latin-1: iconv -f latin1 -t utf-8)"
        )


def _misfit(path: Path, dialect: Dialect, error: Exception) -> UserError:
    """Names the first line that has more cells than the header."""
    with path.open(newline="", encoding="utf-8", errors="replace") as file:
        reader = csv.reader(file, delimiter=dialect.separator)
        try:
            for cells in reader:
                if len(cells) > len(dialect.columns):
                    return UserError(
                        f"{path}, line {reader.line_num}: {len(cells)} cells where the header "
                        f"names {len(dialect.columns)} columns"
                    )
        except csv.Error as problem:
            return UserError(f"{path}, line {reader.line_num}: {problem}")
    first = str(error).splitlines()[0] if str(error) else "malformed"
    return UserError(f"{path} is not a well-formed CSV file: {first}")


def _complete(path: Path, frame: pl.DataFrame, columns: Columns, notes: list[str]) -> pl.DataFrame:
    """Only rows with a value and all levels; says which were left out."""
    for role, name in (
        *((f"by{index}", name) for index, name in enumerate(columns.by)),
        (WITHIN, columns.within),
        (VALUE, columns.value),
    ):
        if role not in frame.columns:
            continue
        if role != VALUE:
            frame = frame.with_columns(pl.col(role).cast(pl.String).str.strip_chars())
        empty = pl.col(role).is_null() | (
            pl.col(role).is_nan() if role == VALUE else pl.col(role) == ""
        )
        missing = frame.filter(empty)[LINE]
        if len(missing):
            notes.append(
                f"{len(missing)} of {len(frame)} rows have no {name!r} and were left out: "
                f"{_lines(missing)}"
            )
            frame = frame.filter(~empty)
    if frame.is_empty():
        raise UserError(f"{path} has no row with a value in {columns.value!r} and all its levels")
    return frame


def _lines(numbers: pl.Series) -> str:
    shown = ", ".join(str(number) for number in numbers.head(5))
    return f"line {shown}" + (" …" if len(numbers) > 5 else "")


def _positions(frame: pl.DataFrame, columns: Columns, notes: list[str]) -> pl.Series:
    """Position of each row in the order of the runs: by number, by time, or by text, and says so.

    Rows with the same entry keep the order of the file; rows without one come last.
    """
    if columns.order is None:
        return pl.Series(np.arange(len(frame)))
    text = frame[ORDER].cast(pl.String).str.strip_chars()
    text = text.set(text == "", None)
    keys = _order_keys(text)
    if keys.dtype == pl.String and text.null_count() < len(text):
        notes.append(f"{columns.order!r} is neither numbers nor times: its order is that of text")
    missing = frame.filter(text.is_null())[LINE]
    if len(missing):
        notes.append(
            f"{len(missing)} of {len(frame)} rows have no {columns.order!r} and are taken as the "
            f"last: {_lines(missing)}"
        )
    table = pl.DataFrame({"key": keys, "at": np.arange(len(keys))})
    ranked = table.sort("key", maintain_order=True, nulls_last=True)["at"].to_numpy()
    position = np.empty(len(keys), dtype=np.int64)
    position[ranked] = np.arange(len(keys))
    return pl.Series(position)


def _order_keys(text: pl.Series) -> pl.Series:
    numbers = text.cast(pl.Float64, strict=False)
    if numbers.null_count() == text.null_count():
        return numbers
    clock = _clock_times(text)
    if clock.null_count() == text.null_count():
        return clock
    times = text.str.to_datetime(strict=False) if _looks_like_time(text) else None
    if times is not None and times.null_count() == text.null_count():
        return times
    return text


def _clock_times(text: pl.Series) -> pl.Series:
    """Seconds of H:MM, H:MM:SS and H:MM:SS.fraction; null of what is none of them."""
    parts = text.str.extract_groups(_CLOCK).struct
    hours, minutes, seconds = (
        parts.field(name).cast(pl.Float64, strict=False) for name in ("hours", "minutes", "seconds")
    )
    return hours * 3600 + minutes * 60 + seconds.fill_null(0.0)


def _looks_like_time(text: pl.Series) -> bool:
    first = text.drop_nulls().head(1)
    if first.is_empty():
        return False
    try:
        return first.str.to_datetime(strict=False).null_count() == 0
    except pl.exceptions.PolarsError:
        return False


def _strata(frame: pl.DataFrame, columns: Columns) -> tuple[Stratum, ...]:
    if columns.within is None:
        return (_stratum(None, frame, len(columns.by)),)
    parts = frame.partition_by(WITHIN, maintain_order=True)
    return tuple(_stratum(str(part[WITHIN][0]), part, len(columns.by)) for part in parts)


def _stratum(name: str | None, frame: pl.DataFrame, factors: int) -> Stratum:
    by = [f"by{index}" for index in range(factors)]
    rank = np.empty(len(frame), dtype=np.int64)
    rank[np.argsort(frame[ORDER].to_numpy(), kind="stable")] = np.arange(len(frame))
    frame = frame.with_columns(pl.Series(ORDER, rank))
    groups = frame.group_by(by, maintain_order=True).agg(VALUE, ORDER, LINE)
    samples = [
        Sample(
            levels=tuple(str(row[role]) for role in by),
            values=np.asarray(row[VALUE], dtype=float),
            position=np.asarray(row[ORDER], dtype=np.int64),
            row=np.asarray(row[LINE], dtype=np.int64),
        )
        for row in _rows(groups)
    ]
    return Stratum.of(name, samples)


def _rows(groups: pl.DataFrame) -> list[dict[str, object]]:
    """One dictionary a group, with its columns of values as arrays and not as Python lists."""
    return [
        {
            name: groups[name][index].to_numpy()
            if isinstance(groups.schema[name], pl.List)
            else groups[name][index]
            for name in groups.columns
        }
        for index in range(len(groups))
    ]
