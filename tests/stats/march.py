# SPDX-License-Identifier: GPL-2.0-or-later
"""The data of the tests: raw timings behind a published table, and a small unbalanced design."""

import csv
from pathlib import Path

import numpy as np

from kernsmith.stats.samples import Sample, Stratum
from seed_data import march_file

DATA = Path(__file__).parents[1] / "data"
EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
GOLDEN = Path(__file__).parent / "golden"
MACHINES = ("X5950", "i7-4790K", "N100")


def sample(name: str, values: list[float], first: int = 0) -> Sample:
    """A sample with one factor, measured in one go from run ``first`` on."""
    position = np.arange(first, first + len(values))
    return Sample((name,), np.array(values, dtype=float), position, position + 2)


def read_groups(file: Path, value: str, by: str, **where: str) -> Stratum:
    """One stratum of a CSV file, read in the plainest way."""
    groups: dict[str, list[float]] = {}
    with file.open(newline="") as lines:
        for row in csv.DictReader(lines):
            if all(row[column] == level for column, level in where.items()):
                groups.setdefault(row[by], []).append(float(row[value]))
    first, samples = 0, []
    for name, values in groups.items():
        samples.append(sample(name, values, first))
        first += len(values)
    return Stratum.of(None, samples)


def march(machine: str) -> Stratum:
    """`make bzImage` on one machine, by processor family option of the kernel."""
    return read_groups(march_file(), "time(sec)", "march", hostname=machine)


def golden_r() -> dict[str, float]:
    """Figures of R; see golden/make_golden.R."""
    with (GOLDEN / "r.csv").open(newline="") as lines:
        return {row["key"]: float(row["value"]) for row in csv.DictReader(lines)}
