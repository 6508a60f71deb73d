# SPDX-License-Identifier: GPL-2.0-or-later
"""What work takes that nothing disturbs: part by part the least of several runs."""

from __future__ import annotations

import numpy as np

from kernsmith.machine.chunks import by_halves, least_of


def test_the_least_of_each_part_counts() -> None:
    assert least_of([[5, 9, 4], [6, 3, 4]]) == (5, 3, 4)
    assert least_of([[5, 9, 4]]) == (5, 9, 4)


def test_runs_in_other_parts_have_none() -> None:
    assert least_of([]) == ()
    assert least_of([[1, 2], [1, 2, 3]]) == ()
    assert least_of([[], []]) == ()


def test_either_half_of_the_runs_speaks_for_itself() -> None:
    assert by_halves([[5, 9], [1, 1], [6, 3], [2, 0]]) == [8, 1, 8, 1]
    assert by_halves([[5, 9]]) == [14]
    assert by_halves([[5, 9], [1]]) == [14, 1]
    assert by_halves([[5, 9], [], [1]]) == [None, None, None]


def test_half_a_per_cent_is_told_apart_where_medians_of_runs_tell_nothing() -> None:
    """Each part of a run is disturbed with a probability of a third, by 30 % on average."""
    random = np.random.default_rng(1)

    def runs(work: float) -> list[list[int]]:
        struck = random.random((20, 64)) < 1 / 3
        late = struck * random.exponential(0.3, (20, 64)) * (1 + random.random((20, 1)))
        return (work * (1 + late)).astype(int).tolist()

    base, slower = [by_halves(runs(work)) for work in (300_000, 301_500)]
    ratios = [b / a for a, b in zip(base[:2], slower[:2], strict=True) if a and b]
    assert [round(100 * (ratio - 1), 1) for ratio in ratios] == [0.5, 0.5]
