# SPDX-License-Identifier: GPL-2.0-or-later
"""How a file is written: encoding, line ends, separator, names of its columns."""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kernsmith.errors import UserError

SEPARATORS = ",;\t|"
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_LOOK = 1 << 16
_LONGEST = 60
_LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True)
class Dialect:
    """What was found out from the file's beginning.

    columns: names without surrounding spaces, in order. line_end: "\\n" (also for "\\r\\n") or
    "\\r". utf16: the file is to be decoded first. header: the line that names the columns, the
    first that is not blank; lines count from 1.
    """

    separator: str
    columns: tuple[str, ...]
    line_end: str
    utf16: bool
    header: int


def find_dialect(path: Path) -> Dialect:
    """Looks at the first line that is not blank.

    Raises:
        UserError: no such file, empty, or not text.
    """
    start = _beginning(path)
    utf16 = start.startswith(_UTF16)
    if utf16:
        text = start[: len(start) // 2 * 2].decode("utf-16", "replace")
    else:
        if b"\0" in start:
            raise UserError(f"{path} is not a text file; a CSV file is expected")
        text = start.decode("utf-8-sig", "replace")
    if not text.strip():
        raise UserError(f"{path} is empty; its first line must name the columns")
    lines = _LINE_END.split(text)
    number, header = next((n, line) for n, line in enumerate(lines, 1) if line.strip())
    first_end = _LINE_END.search(text)
    line_end = "\r" if first_end and first_end[0] == "\r" else "\n"
    separator = _separator(header)
    names = next(csv.reader([header], delimiter=separator, skipinitialspace=True))
    columns = tuple(name.strip() for name in names)
    return Dialect(separator, columns, line_end, utf16, number)


def column_index(path: Path, columns: Sequence[str], name: str) -> int:
    """Where a column is.

    Raises:
        UserError: no such column (names those that exist), or several of that name.
    """
    found = [index for index, column in enumerate(columns) if column == name.strip()]
    if not found:
        raise UserError(f"{path} has no column {name!r}; its columns are {told_columns(columns)}")
    if len(found) > 1:
        raise UserError(f"{path} has {len(found)} columns called {name!r}; rename all but one")
    return found[0]


def told_columns(columns: Sequence[str]) -> str:
    """The names of columns in a sentence; long ones, of what may be no table at all, are cut."""
    cut = (name if len(name) <= _LONGEST else f"{name[:_LONGEST]}…" for name in columns)
    return ", ".join(repr(name) for name in cut)


def _beginning(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_LOOK)
    except FileNotFoundError:
        raise UserError(f"there is no file {path}") from None
    except IsADirectoryError:
        raise UserError(f"{path} is a folder; a CSV file is expected") from None
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from None


def _separator(header: str) -> str:
    """The candidate that occurs most often outside quotes."""
    unquoted = "".join(header.split('"')[::2])
    return max(SEPARATORS, key=lambda mark: (unquoted.count(mark), -SEPARATORS.index(mark)))
