# SPDX-License-Identifier: GPL-2.0-or-later
"""An index as UnixBench defines it: throughput relative to a baseline's machine, which has 10.

UnixBench 5.1, USAGE, "The BYTE Index": each test's index is its result over the baseline's, times
10; the index of all is their geometric mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, fsum, log

from kernsmith.errors import UserError
from kernsmith.guest.workloads import Workload

BASELINE_INDEX = 10.0


@dataclass(frozen=True)
class Indexed:
    """A test.

    rate: operations in `per` seconds. baseline: those of the baseline's machine.
    """

    name: str
    unit: str
    per: float
    rate: float
    baseline: float

    @property
    def index(self) -> float:
        """10 for a machine that is as fast as the baseline's."""
        return BASELINE_INDEX * self.rate / self.baseline


def indexed(workload: Workload, seconds: float) -> Indexed:
    """seconds: that the workload's rounds took.

    Raises:
        UserError: the workload has no baseline, or took no time.
    """
    if workload.baseline is None:
        raise UserError(
            f"{workload.name} belongs to no index: those of unixbench and unixbench-high do"
        )
    if seconds <= 0:
        raise UserError(f"{workload.name} took {seconds:g} s: there is no throughput")
    per = workload.baseline.seconds
    return Indexed(
        workload.name, workload.unit, per, workload.done / seconds * per, workload.baseline.count
    )


def overall(tests: Sequence[Indexed]) -> float:
    """The geometric mean of their indices."""
    return exp(fsum(log(each.index) for each in tests) / len(tests))
