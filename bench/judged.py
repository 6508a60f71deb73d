# SPDX-License-Identifier: GPL-2.0-or-later
"""The judgement of `emeraldrapids` in docs/silicon.md, from docs/silicon.csv beside it.

The file has what each binary took on the processor and in the model; the model's figures are of
those that calibrated it on other programs. Other files of the same columns may be named.
"""

import csv
import sys
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console

from kernsmith.report.silicon import print_agreement
from kernsmith.silicon.builds import BASELINE
from kernsmith.stats.agreement import Agreement, Point, judge

TABLE = Path(__file__).parents[1] / "docs/silicon.csv"


def points(file: Path) -> Iterator[Point]:
    """The binaries that were simulated, too."""
    with file.open(encoding="utf-8", newline="") as rows:
        for row in csv.DictReader(rows):
            if row["model_cycles"]:
                names = row["program"], row["build"], row["layout"]
                figures = row["cycles"], row["first_half"], row["second_half"], row["model_cycles"]
                yield Point(*names, *map(float, figures))


def judged(file: Path = TABLE) -> Agreement:
    """Cycles are those of the core: no factor is fitted."""
    return judge(list(points(file)), BASELINE, factor=1.0)


if __name__ == "__main__":
    files = [Path(word) for word in sys.argv[1:]] or [TABLE]
    for each in files:
        print_agreement(judged(each), f"what {each.name} has", "the model", Console(width=140))
