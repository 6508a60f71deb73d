# SPDX-License-Identifier: GPL-2.0-or-later
"""How long functions are, and which ones two kernels have in common."""

from kernsmith.kernel.symbols import Symbol, equally_long, function_lengths, movable_end

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


def test_lengths_reach_to_the_next_symbol() -> None:
    lengths = function_lengths(SYMBOLS)
    assert lengths["a"] == (0x20,)
    assert lengths["b"] == lengths["alias_of_b"] == (0x10,)
    assert lengths["twice"] == (0x40, 0x10)
    assert "data" not in lengths


def test_fixed_code_begins_behind_what_may_move() -> None:
    marks = [Symbol(0x3000, "T", "__sched_text_start"), Symbol(0x2000, "T", "__noinstr_text_start")]
    assert movable_end([*SYMBOLS, *marks]) == 0x2000
    assert movable_end(SYMBOLS) == 0


def test_what_is_equally_long_in_all_kernels() -> None:
    one = {"same": (16,), "longer": (16,), "twice": (16, 32), "gone": (16,)}
    other = {"same": (16,), "longer": (32,), "twice": (32, 16), "new": (16,)}
    assert equally_long([one, other]) == {"same"}
    assert equally_long([one]) == set(one)
    assert equally_long([]) == set()
