# SPDX-License-Identifier: GPL-2.0-or-later
"""JUnit XML of an analysis: what CI systems show."""

from xml.etree import ElementTree

import numpy as np
import pytest

from kernsmith.report.analysis.junit import as_junit
from kernsmith.stats.analysis import Options, analyse
from kernsmith.stats.benchmarks import Better
from kernsmith.stats.samples import Sample, Stratum


def stratum(name: str, groups: dict[str, list[float]]) -> Stratum:
    samples = [
        Sample((group,), np.array(values), np.arange(len(values)), np.zeros(len(values), int))
        for group, values in groups.items()
    ]
    return Stratum.of(name, samples)


STRATA = (
    stratum("pipe <1>", {"old": [1.0, 1.1, 1.05, 1.02], "new": [2.0, 2.1, 2.05, 2.02]}),
    stratum("fork\x00", {"old": [1.0, 1.1, 1.05, 1.02], "new": [0.5, 0.51, 0.52, 0.5]}),
    stratum("file", {"old": [1.0], "new": [1.2]}),
)


def suites(better: Better) -> dict[str | None, ElementTree.Element]:
    text = as_junit(analyse(STRATA, Options(("kernel",), "time", "test", better=better)))
    root = ElementTree.fromstring(text)
    assert (root.tag, root.get("tests"), root.get("skipped")) == ("testsuites", "3", "1")
    assert root.get("failures") == "1"
    return {suite.get("name"): suite for suite in root}


@pytest.mark.parametrize(
    ("better", "failing", "passing"),
    [("lower", "pipe <1>", "fork�"), ("higher", "fork�", "pipe <1>")],
)
def test_a_significant_change_for_the_worse_fails(
    better: Better, failing: str, passing: str
) -> None:
    found = suites(better)
    (case,) = found[failing].iter("testcase")
    assert (case.get("classname"), case.get("name")) == (failing, "new against old")
    failure = case.find("failure")
    assert failure is not None
    assert "than old (95 % CI" in str(failure.get("message"))
    (case,) = found[passing].iter("testcase")
    assert case.find("failure") is None
    assert "than old" in str(case.findtext("system-out"))


def test_what_cannot_be_tested_is_skipped() -> None:
    (case,) = suites("lower")["file"].iter("testcase")
    skipped = case.find("skipped")
    assert skipped is not None
    assert "without a spread no test" in str(skipped.get("message"))
