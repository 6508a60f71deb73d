# SPDX-License-Identifier: GPL-2.0-or-later
"""The functions of a profile, by how much of the run they are."""

from kernsmith.kernel.symbols import Symbol
from kernsmith.profile import BranchCounts
from kernsmith.profile.functions import FunctionShare, function_shares

SYMBOLS = [Symbol(0x100, "T", "a"), Symbol(0x100, "t", "alias"), Symbol(0x200, "t", "b")]


def test_shares_are_of_executed_bytes() -> None:
    counts = BranchCounts(
        ranges={(0x100, 0x109): 3, (0x110, 0x113): 5, (0x200, 0x231): 3},
        branches={(0x109, 0x200): 2, (1, 0x200): 1, (0x231, 0x110): 4, (0x113, 0x100): 6},
    )
    assert function_shares(counts, SYMBOLS) == [
        FunctionShare("b", 0.75, 3, 0x200),
        FunctionShare("a", 0.25, 6, 0x100),
    ]


def test_code_before_all_functions_has_no_name() -> None:
    counts = BranchCounts({(0x10, 0x10): 1, (0x100, 0x100): 1}, {})
    assert [function.name for function in function_shares(counts, SYMBOLS)] == ["?", "a"]


def test_nothing_ran() -> None:
    assert function_shares(BranchCounts({}, {}), SYMBOLS) == []


def test_static_functions_of_one_name_are_not_summed() -> None:
    symbols = [Symbol(0x100, "t", "init"), Symbol(0x200, "t", "init")]
    counts = BranchCounts({(0x100, 0x100): 1, (0x200, 0x200): 3}, {(1, 0x200): 2})
    assert function_shares(counts, symbols) == [
        FunctionShare("init", 0.75, 2, 0x200),
        FunctionShare("init", 0.25, 0, 0x100),
    ]
