# SPDX-License-Identifier: GPL-2.0-or-later
"""In which line of its file a row begins: quoted cells may have line ends in them."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from kernsmith.csvfile.dialect import Dialect


def first_lines(path: Path, dialect: Dialect, rows: int) -> list[int] | None:
    """The line in which each row below the header begins; None where each has a line of its own.

    rows: how many there are. A file of which others can be told is not well-formed: None, too.
    """
    encoding = "utf-16" if dialect.utf16 else "utf-8-sig"
    text = path.read_bytes().decode(encoding, "replace")
    ends = text.count(dialect.line_end) + (not text.endswith(dialect.line_end))
    if ends == dialect.header + rows:
        return None
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=dialect.separator)
    lines, line = [], 1
    try:
        for _ in reader:
            lines.append(line)
            line = reader.line_num + 1
    except csv.Error:
        return None
    return lines[dialect.header :] if len(lines) == dialect.header + rows else None
