# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the code begins that no order moves."""

from kernsmith.kernel.symbols import Symbol, movable_end

SYMBOLS = [
    Symbol(0x1000, "T", "_stext"),
    Symbol(0x1000, "T", "a"),
    Symbol(0x1020, "t", "twice"),
    Symbol(0x1060, "T", "b"),
    Symbol(0x1060, "T", "alias_of_b"),
    Symbol(0x1070, "t", "twice"),
    Symbol(0x1080, "T", "_etext"),
    Symbol(0x2000, "D", "data"),
]


def test_fixed_code_begins_behind_what_may_move() -> None:
    marks = [Symbol(0x3000, "T", "__sched_text_start"), Symbol(0x2000, "T", "__noinstr_text_start")]
    assert movable_end([*SYMBOLS, *marks]) == 0x2000
    assert movable_end(SYMBOLS) == 0
