# SPDX-License-Identifier: GPL-2.0-or-later
"""Numbers as people write them in CSV files."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from kernsmith.errors import UserError

MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "none", "-", ".")
"""What stands for no value."""


SMALLEST, LARGEST = 1e-60, 1e60
"""Fourth powers of values beyond these do not fit into a double."""


def parse_numbers(
    path: Path, column: str, cells: pl.Series, lines: pl.Series
) -> tuple[pl.Series, list[str]]:
    """Finite floats, null where there is no value, and notes on how cells were understood.

    Decimal commas are understood where no cell of the column has a decimal point.

    lines: line in the file of each cell.

    Raises:
        UserError: the line and the text of the first cell that is not a finite number.
    """
    if cells.dtype == pl.Float64:
        values, notes = cells.fill_nan(None), list[str]()
    else:
        values, notes = _from_text(path, column, cells, lines)
    endless = values.is_infinite().fill_null(False)
    if endless.any():
        line = lines[int(endless.arg_max() or 0)]
        raise UserError(f"{path}, line {line}: {column!r} is infinite; values must be finite")
    size = values.abs()
    wild = ((size > LARGEST) | ((size < SMALLEST) & (size > 0))).fill_null(False)
    if wild.any():
        line = lines[int(wild.arg_max() or 0)]
        raise UserError(
            f"{path}, line {line}: {column!r} is not between {SMALLEST:g} and {LARGEST:g} in "
            "size; scale the values"
        )
    return values, notes


def _from_text(
    path: Path, column: str, cells: pl.Series, lines: pl.Series
) -> tuple[pl.Series, list[str]]:
    text = cells.cast(pl.String).str.strip_chars()
    text = text.set(text.is_in(list(MISSING)), None)
    notes = []
    has_comma = bool(text.str.contains(",", literal=True).any())
    if has_comma and not text.str.contains(".", literal=True).any():
        text = text.str.replace(",", ".", literal=True)
        notes.append(f"the commas in {column!r} were read as decimal commas")
    values = text.cast(pl.Float64, strict=False)
    wrong = values.is_null() & text.is_not_null()
    if wrong.any():
        index = int(wrong.arg_max() or 0)
        raise _not_a_number(path, column, str(cells[index]), lines[index])
    return values.fill_nan(None), notes


def _not_a_number(path: Path, column: str, cell: str, line: int) -> UserError:
    shown = cell if len(cell) <= 40 else cell[:40] + "…"
    message = f"{path}, line {line}: {shown!r} in column {column!r} is not a number"
    if "," in cell and "." in cell:
        message += "; write numbers without separators of thousands"
    return UserError(message)
