# SPDX-License-Identifier: GPL-2.0-or-later
"""One metric in one unit: times are converted, and other units are not mixed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kernsmith.harness.protocol import Malformed, Row

_SECONDS = {
    "ns": 1e-9, "nsec": 1e-9, "us": 1e-6, "usec": 1e-6, "ms": 1e-3, "msec": 1e-3,
    "s": 1.0, "sec": 1.0, "seconds": 1.0,
}  # fmt: skip


def in_one_unit(rows: Sequence[Row]) -> tuple[list[Row], list[str]]:
    """Rows of one metric, all in the unit of the first, and a note on what was converted.

    Raises:
        Malformed: they are in units of which none is known to be so much of the other.
    """
    units = list(dict.fromkeys(row.measure.unit for row in rows))
    if len(units) < 2:
        return list(rows), []
    first, *others = units
    for unit in units:
        if unit not in _SECONDS:
            told = " and in ".join(repr(each) for each in units)
            raise Malformed(f"{rows[0].measure.name!r} is in {told}, which cannot be compared")
    converted = [_converted(row, first) for row in rows]
    return converted, [f"values in {' and '.join(others)} were converted to {first}"]


def _converted(row: Row, unit: str) -> Row:
    if row.measure.unit == unit:
        return row
    value = row.value * _SECONDS[row.measure.unit] / _SECONDS[unit]
    return replace(row, value=value, measure=replace(row.measure, unit=unit))
