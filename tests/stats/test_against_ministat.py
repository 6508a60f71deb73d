# SPDX-License-Identifier: GPL-2.0-or-later
"""Line by line what ministat prints; golden/ministat.txt is its output (see make_golden.sh)."""

from collections.abc import Iterable, Iterator, Sequence

import pytest
from march import GOLDEN, march, sample

from kernsmith.stats.ministat import ministat_report, student
from kernsmith.stats.samples import Array, Sample, summarise


def _cases() -> Iterator[tuple[str, list[str]]]:
    for block in (GOLDEN / "ministat.txt").read_text().split("### ")[1:]:
        title, *lines = block.splitlines()
        yield title, lines


def _sample(name: str) -> Sample:
    x5950, i7 = march("X5950").samples, march("i7-4790K").samples
    values: dict[str, Sequence[float] | Array] = {
        "generic": x5950[0].values,
        "v3": x5950[1].values,
        "zen3": x5950[2].values,
        "i7-generic": i7[0].values,
        "haswell": i7[2].values,
        "many": _as_awk_prints(10 + (i * 37 % 80) / 100 for i in range(80)),
        "more": _as_awk_prints(10.05 + (i * 17 % 61) / 90 for i in range(61)),
    }
    return sample(name, [float(value) for value in values[name]])


def _as_awk_prints(values: Iterable[float]) -> list[float]:
    return [float(f"{value:.6g}") for value in values]


@pytest.mark.parametrize(("title", "lines"), list(_cases()))
def test_every_printed_digit(title: str, lines: list[str]) -> None:
    confidence, *names = title.split()
    samples = [_sample(name) for name in names]
    found = ministat_report(samples, [summarise(s) for s in samples], 1 - float(confidence) / 100)
    assert found == lines


def test_its_table_beyond_100_degrees_of_freedom_is_the_normal_distributions() -> None:
    assert student(95.0, 100) == 1.984
    assert student(95.0, 101) == 1.96
