# SPDX-License-Identifier: GPL-2.0-or-later
"""Stacks of two kernels: nothing is lost, and the same stack is one."""

import pytest

from kernsmith.engine.flame import LEAST, flame_view, folded
from kernsmith.engine.function_costs import StackNode, Stacks

ONE = Stacks(
    (
        StackNode(None, "entry", 100.0, 80, 1),
        StackNode(0, "read", 300.0, 200, 2),
        StackNode(1, "copy", 500.0, 100, 3),
        StackNode(None, "irq; timer", 100.0, 50, 0),
    ),
    stacks=4, returns=1000, lost=1,
)  # fmt: skip
OTHER = Stacks(
    (
        StackNode(None, "entry", 50.0, 40, 1),
        StackNode(0, "write", 20.0, 20, 0),
        StackNode(0, "read", 200.0, 150, 2),
        StackNode(2, "small", 0.1, 1, 0),
    ),
    stacks=4, returns=1000, lost=5,
)  # fmt: skip


def test_functions_come_behind_those_that_call_them() -> None:
    found = flame_view([ONE], [OTHER], [1.0])
    told = [(node.parent, node.name, node.model_cycles) for node in found.nodes]
    # What is too small to be seen is in what has called it.
    assert told == [
        (None, "entry", (100, 50)),
        (0, "read", (300, pytest.approx(200.1))),
        (1, "copy", (500, 0)),
        (0, "write", (0, 20)),
        (None, "irq; timer", (100, 0)),
    ]
    assert found.lost == 0.005


def test_workloads_are_added_with_their_weights() -> None:
    found = flame_view([ONE, OTHER], [OTHER, OTHER], [1.0, 10.0])
    nodes = {node.name: node.model_cycles for node in found.nodes}
    assert nodes["entry"] == (100 + 500, 50 + 500)
    assert nodes["copy"] == (500, 0)
    whole = [sum(node.model_cycles[side] for node in found.nodes) for side in (0, 1)]
    assert whole == pytest.approx([1000 + 2701, 270.1 + 2701])


def test_small_functions_stay_when_they_are_large_in_one_kernel() -> None:
    def stacks(cycles: float) -> Stacks:
        nodes = StackNode(None, "entry", 999.0, 1, 0), StackNode(0, "a", cycles, 1, 0)
        return Stacks(nodes, stacks=2, returns=1, lost=0)

    small, large = stacks(500 * LEAST), stacks(2000 * LEAST)
    assert len(flame_view([small], [small], [1.0]).nodes) == 1
    assert len(flame_view([small], [large], [1.0]).nodes) == 2


def test_a_file_of_stacks_has_a_line_for_each() -> None:
    assert folded([ONE], [OTHER], [0.01]).splitlines() == [
        "entry 1000 500",
        "entry;read 3000 2000",
        "entry;read;copy 5000 0",
        "entry;read;small 0 1",
        "entry;write 0 200",
        "irq:_timer 1000 0",
    ]
