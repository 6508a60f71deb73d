# SPDX-License-Identifier: GPL-2.0-or-later
"""Loops that a CPU model executes without a trace, and those that the bench draws."""

from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

from kernsmith._native import loop_cycles
from kernsmith.machine.tcg import open_machine

BENCH = Path(__file__).parents[2] / "bench"


@pytest.fixture(scope="module")
def cpu() -> str:
    return str(open_machine("zen3").cpu)


def ring(jumps: int, apart: int) -> list[tuple[int, list[int], str, int, bool]]:
    starts = [0x40_0000 + number * apart for number in range(jumps)]
    return [
        (start, [5], "jump", starts[(number + 1) % jumps], True)
        for number, start in enumerate(starts)
    ]


def test_what_a_buffer_does_not_know_costs_more(cpu: str) -> None:
    few = loop_cycles(cpu, ring(64, 64), 100) / 64
    many = loop_cycles(cpu, ring(16384, 64), 4) / 16384
    assert 1.0 <= few < 1.5
    assert many > 8.0


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ((64, [], "jump", 64, True), "the step at 0x40 has no instructions"),
        ((64, [5], "hop", 64, True), 'the step at 0x40 ends with a "hop"'),
    ],
)
def test_a_step_that_is_none(
    cpu: str, step: tuple[int, list[int], str, int, bool], said: str
) -> None:
    with pytest.raises(ValueError, match=f"^{said}$"):
        loop_cycles(cpu, [step], 1)


def test_a_drawn_loop_leads_from_each_step_to_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCH))
    from probes.drawn import Group, code, drawn

    group = Group("a mixture", 300, calls=0.3, jumps=0.2, untaken=0.5)
    steps = drawn(group, Random(1), 0x4000_0000)
    for step, behind in zip(steps, [*steps[1:], steps[0]], strict=True):
        assert behind.start == (step.target if step.taken else step.end)
        assert len(step.code) == step.end - step.start == sum(step.simulated[1])
    assert sum(step.taken for step in steps[:-1]) in (300, 301, 302)
    assert {step.kind for step in steps} == {"conditional", "jump", "call", "return"}
    ends = sorted((at, at + len(what)) for at, what in code(steps).items())
    assert all(end <= begin for (_, end), (begin, _) in pairwise(ends))
    assert ends[0][0] >= 0x4000_0000 and ends[-1][1] < 0x4100_0000
    assert drawn(group, Random(1), 0x4000_0000) == steps
