# SPDX-License-Identifier: GPL-2.0-or-later
"""What the model's cycles are worth: said beside every verdict on them."""

from __future__ import annotations

from kernsmith.report.page import Column, Details, Section, Table, Text, Verdict

CAUTION = (
    "model_cycles is a model that overstates gains and does not know real layouts: held against a "
    "real processor in November 2026, a sum of penalties had the sign of -Os wrong, made 0.786 of "
    "a gain that is 0.834, and ranked random layouts hardly better than chance (rank correlation "
    "0.19). Simulated in time (--cpu emeraldrapids), -Os has its sign, and layouts 0.28."
)

_SOURCE = (
    "A prototype measurement on one Emerald Rapids processor: SQLite and Lua as one user program, "
    "cycles of its time stamp counter, geometric means over random layouts; model_cycles of the "
    "same binaries with that processor's published geometry."
)

ROWS = (
    ("-Os against -O2", "1.023", "0.979 (wrong sign)"),
    ("-O3 against -O2", "1.004", "0.997"),
    ("-falign-functions=64 against -O2", "1.002", "0.978"),
    ("instrumented profile-guided optimisation against -O2", "0.834", "0.786"),
    ("16 random layouts of the same objects: spread", "3.2 %", "1.6 %"),
    ("the same: rank correlation with the processor", "1", "0.19"),
)


def caution_sections() -> list[Section]:
    """The caution that stands beside a headline, and the table behind it."""
    columns = [Column("what"), Column("processor"), Column("model_cycles")]
    table = Table(columns, [list(row) for row in ROWS], "The model against a processor")
    return [
        Verdict(CAUTION, "warning"),
        Details("What the model said and what the processor did", [table, Text(_SOURCE)]),
    ]
