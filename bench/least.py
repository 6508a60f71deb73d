# SPDX-License-Identifier: GPL-2.0-or-later
"""What `least_cycles` tells apart on this computer, however busy: `python bench/least.py [RUNS]`.

The guest's program runs as a process here, on one processor, on the kernel that is booted: each
workload with its rounds and, in turns, with half a per cent more of them. Beside the change that
medians of whole runs and sums of least parts tell stands what they tell of no change: the even
against the odd runs of the same.
"""

import re
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kernsmith.guest.workloads import load_catalogue
from kernsmith.machine.chunks import least_of
from kernsmith.paths import shipped

_WORKLOADS = ("pipe", "file", "fork", "select", "signal", "null-syscall")
_MORE = 1.005
_RUNS = 40


@dataclass(frozen=True)
class Run:
    """ticks: reference cycles of the region. parts: of each of its parts."""

    ticks: int
    parts: tuple[int, ...]


def run(workload: str, rounds: int) -> Run:
    """One process."""
    program = shipped("build", "guest", "timed", "kernsmith-guest")
    words = ["taskset", "-c", "1", program, "--run", workload, "--rounds", str(rounds)]
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    (ticks,) = re.findall(r"^kernsmith: metric reference_cycles=(\d+)$", said, re.MULTILINE)
    parts = " ".join(re.findall(r"^kernsmith: chunks (.*)$", said, re.MULTILINE))
    return Run(int(ticks), tuple(map(int, parts.split())))


def _median(runs: Sequence[Run]) -> float:
    return statistics.median(each.ticks for each in runs)


def _least(runs: Sequence[Run]) -> float:
    return sum(least_of([each.parts for each in runs]))


def main() -> None:
    """Print a row of a Markdown table for each workload."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else _RUNS
    print("| workload | no change: medians | least | +0.5 % of rounds: medians | least |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for workload in load_catalogue().select(_WORKLOADS):
        more = round(workload.rounds * _MORE)
        pairs = [
            (run(workload.name, workload.rounds), run(workload.name, more)) for _ in range(count)
        ]
        usual, longer = [one for one, _ in pairs], [other for _, other in pairs]

        def change(of: Callable[[Sequence[Run]], float], a: list[Run], b: list[Run]) -> str:
            return f"{100 * (of(b) / of(a) - 1):+.2f} %"

        told = [
            change(of, *sides)
            for sides in ((usual[::2], usual[1::2]), (usual, longer))
            for of in (_median, _least)
        ]
        print(f"| `{workload.name}` | {' | '.join(told)} |", flush=True)


if __name__ == "__main__":
    main()
