# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the code begins that no order moves."""

from kernsmith.kernel.symbols import Symbol, code_symbols, movable_end

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


def test_functions_with_a_size_come_before_marks_and_labels() -> None:
    listing = (
        "ffffffff814206e0 0000000000000000 T __sched_text_start\n"
        "ffffffff814206e0 0000000000000912 t __schedule\n"
        "ffffffff81000053 0000000000000000 T entry_SYSCALL_64_safe_stack\n"
        "ffffffff81000040 0000000000000100 T entry_SYSCALL_64\n"
        "ffffffff81426ac5 0000000000000000 T __sched_text_end\n"
        "ffffffff82000000 0000000000000008 D data\n"
        "                 U undefined\n"
    )
    assert [symbol.name for symbol in code_symbols(listing)] == [
        "entry_SYSCALL_64", "__schedule", "__sched_text_end"
    ]  # fmt: skip
