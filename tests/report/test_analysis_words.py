# SPDX-License-Identifier: GPL-2.0-or-later
"""Sentences of an analysis, to the last letter: they are in the documented JSON."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from kernsmith.csvfile import read_summaries
from kernsmith.report.analysis.export import as_document
from kernsmith.stats.analysis import Options, analyse
from kernsmith.stats.samples import Sample, Stratum

ROOT = Path(__file__).parents[2]
# What these data were said to be when sentences were still made beside the figures.
GOLDEN = json.loads((ROOT / "tests" / "data" / "analysis-sentences.json").read_text())


def normal(seed: int, mean: float, sd: float, n: int) -> Sequence[float]:
    return list(np.random.default_rng(seed).normal(mean, sd, n))


def exponential(seed: int, mean: float, sd: float, n: int) -> Sequence[float]:
    return list(np.exp(normal(seed, mean, sd, n)))


def sample(name: str, values: Sequence[float], at: Sequence[int] = ()) -> Sample:
    positions = np.array(at or range(len(values)))
    return Sample((name,), np.array(values, dtype=float), positions, positions + 2)


def interleaved(*groups: Sequence[float]) -> list[Sample]:
    count = len(groups)
    return [
        sample(name, values, range(place, count * len(values), count))
        for place, (name, values) in enumerate(zip("abc", groups, strict=False))
    ]


NOISE = np.random.default_rng(3).normal(0, 1, 100)
WALK = np.cumsum(NOISE[:60]) + 100
SWINGING = 10 + np.tile([1, -1], 20) + 0.01 * NOISE[60:]
SAMPLES = {
    "one group": [sample("a", [1, 2, 3])],
    "a group of one": [sample("a", [1, 2, 3, 2]), sample("b", [9])],
    "two groups of one": [sample("a", [1]), sample("b", [2])],
    "no spread": [sample("a", [1] * 4), sample("b", [2] * 4)],
    "a baseline of zero": [sample("n", [0] * 5), sample("s", [1, 1.1, 0.9, 1, 1.05])],
    "unequal variances": [sample("s", normal(1, 10, 0.01, 40)), sample("j", normal(2, 10, 1, 12))],
    "spread grows with the mean": [
        sample("f", exponential(2, 0, 0.1, 40)),
        sample("s", exponential(5, 2, 0.1, 40)),
    ],
    "neighbours alike": interleaved(list(WALK), list(WALK + 1)),
    "neighbours alternate": interleaved(list(SWINGING), list(SWINGING + 3)),
    "three interleaved groups": interleaved(
        normal(7, 10, 1, 12), normal(8, 12, 1, 12), normal(9, 10, 1, 12)
    ),
    "skewed": interleaved(exponential(7, 0, 2, 32), exponential(8, 0, 2, 32)),
    "long blocks": [
        sample("a", normal(1, 1, 0.1, 8), [0, 1, 2, 3, 8, 9, 10, 11]),
        sample("b", normal(2, 1, 0.1, 8), [4, 5, 6, 7, 12, 13, 14, 15]),
    ],
    "unequal variances and a group of one": [
        sample("a", normal(1, 1, 0.1, 30)),
        sample("b", normal(2, 1, 9, 30)),
        sample("c", [3.0]),
    ],
    "drift": interleaved([10 + 0.1 * i + 0.01 * (-1) ** i for i in range(12)], [9, 9.1] * 6),
}


def sentences(strata: Sequence[Stratum], options: Options) -> dict[str, object]:
    told = as_document(analyse(strata, options))["strata"][0]
    checks = {check["name"]: check["sentence"] for check in told["checks"]}
    return {"verdict": told["verdict"], "reason": told["reason"], "checks": checks}


@pytest.mark.parametrize("name", SAMPLES)
def test_sentences(name: str) -> None:
    options = Options(("variant",), "seconds")
    assert sentences([Stratum.of(None, SAMPLES[name])], options) == GOLDEN[name]


def test_sentences_of_a_table_without_raw_data() -> None:
    reading = read_summaries(ROOT / "docs" / "examples" / "buildworld.csv", ("group",), "time")
    assert sentences(reading.strata, Options(("group",), within="time")) == GOLDEN["summary"]


def test_every_example_is_asserted() -> None:
    assert set(GOLDEN) == {*SAMPLES, "summary"}
