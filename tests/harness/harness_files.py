# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the harnesses' files of the tests are, and how they are read."""

from pathlib import Path

from kernsmith.harness import Asked, HarnessReading, read_harness

FOLDER = Path(__file__).parents[1] / "data" / "harness"


def read(*names: str, asked: Asked | None = None) -> HarnessReading:
    """Files that are of a harness."""
    found = read_harness([FOLDER / name for name in names], asked or Asked())
    assert found is not None
    return found


def values(reading: HarnessReading) -> dict[str | None, dict[str, list[float]]]:
    """By stratum and group."""
    return {
        stratum.name: {sample.name: sample.values.tolist() for sample in stratum.samples}
        for stratum in reading.reading.strata
    }
