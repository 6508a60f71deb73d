# SPDX-License-Identifier: GPL-2.0-or-later
"""What work takes that nothing disturbs: of each part of it, the least that any run took.

A run does the same work as the others, in the same parts. What disturbs it (an interrupt of the
host, a neighbour, a clock that was low for a while) makes some parts longer and none shorter. The
sum over parts of the least over runs is the estimate of docs/silicon.md.
"""

from __future__ import annotations

from collections.abc import Sequence


def least_of(runs: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """The least of each part over runs of equally many; empty where they are not, or have none.

    runs: what each part took, by run, in any unit of time.
    """
    if not runs or len({len(run) for run in runs}) != 1:
        return ()
    return tuple(map(min, zip(*runs, strict=True)))


def by_halves(runs: Sequence[Sequence[int]]) -> list[float | None]:
    """For each run the estimate of that half of the runs which it is in, every second one.

    So the halves of the runs have estimates of their own, whose difference is noise. None for runs
    of a half without one.
    """
    sums = [sum(least_of(runs[half::2])) or None for half in (0, 1)]
    return [sums[number % 2] for number in range(len(runs))]
