# SPDX-License-Identifier: GPL-2.0-or-later
"""What is said of the model against a processor is what the prototype measured."""

import csv
from math import exp, log

import pytest
from scipy.stats import spearmanr

from kernsmith.report.study.silicon import ROWS
from seed_data import silicon_file

BUILDS = {
    "-Os against -O2": "Os",
    "-O3 against -O2": "O3",
    "-falign-functions=64 against -O2": "a64",
    "instrumented profile-guided optimisation against -O2": "pgo",
}


def runs(build: str, session: str) -> list[dict[str, str]]:
    with silicon_file().open() as file:
        return [
            row
            for row in csv.DictReader(file)
            if (row["build"], row["session"]) == (build, session)
        ]


def mean(build: str, column: str) -> float:
    values = [log(float(row[column])) for row in runs(build, "2")]
    return exp(sum(values) / len(values))


@pytest.mark.parametrize("name", BUILDS)
def test_builds(name: str) -> None:
    told = next(row for row in ROWS if row[0] == name)
    for column, cell in zip(("tsc_cycles", "model_cycles"), told[1:], strict=True):
        ratio = mean(BUILDS[name], column) / mean("O2", column)
        # Means of a different number of layouts of -O2 agree within 0.2 %.
        assert float(cell.split()[0]) == pytest.approx(ratio, abs=0.002)


def test_layouts() -> None:
    layouts = runs("O2", "1")
    real, modelled = (
        [float(row[column]) for row in layouts] for column in ("tsc_cycles", "model_cycles")
    )
    spread, correlation = ROWS[4], ROWS[5]
    for cell, values in zip(spread[1:], (real, modelled), strict=True):
        assert cell == f"{100 * (max(values) / min(values) - 1):.1f} %"
    assert float(correlation[2]) == pytest.approx(spearmanr(real, modelled)[0], abs=0.005)
