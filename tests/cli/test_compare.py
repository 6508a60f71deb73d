# SPDX-License-Identifier: GPL-2.0-or-later
"""What `compare` and `bisect` take, and when `compare` fails in continuous integration."""

from dataclasses import replace

import pytest

from documents import study_document, verdict
from kernsmith.cli.amounts import read_percent, with_layouts, with_range
from kernsmith.cli.compare import is_regression
from kernsmith.document import MetricView, StudyDocument
from kernsmith.errors import UserError
from kernsmith.study import Design


@pytest.mark.parametrize(("text", "value"), [("0.5%", 0.5), (".5", 0.5), ("3 %", 3.0), ("0", 0.0)])
def test_per_cent(text: str, value: float) -> None:
    assert read_percent("--until", text) == value


@pytest.mark.parametrize("text", ["", "-1", "100%", "half", "1e3", "0.5%%"])
def test_what_is_not_per_cent(text: str) -> None:
    with pytest.raises(UserError, match=r"--until takes per cent"):
        read_percent("--until", text)


def test_layouts() -> None:
    design = Design(until=0.5)
    ranged, fixed = with_layouts(design, "4..16"), with_layouts(design, "12")
    assert (ranged.layouts, ranged.most_layouts, ranged.until) == (4, 16, 0.5)
    assert (fixed.layouts, fixed.until) == (12, 0.0)


@pytest.mark.parametrize("text", ["", "0", "1..8", "8..4", "8-64", "many", "8..99999"])
def test_what_are_no_layouts(text: str) -> None:
    with pytest.raises(UserError, match="--layouts takes"):
        with_layouts(Design(), text)


def test_a_range_may_be_one_number() -> None:
    fixed = with_range(Design(until=0.5), "12")
    assert (fixed.layouts, fixed.most_layouts, fixed.until) == (12, 12, 0.5)


@pytest.mark.parametrize("text", ["", "0", "1", "8..4", "many"])
def test_what_is_no_range(text: str) -> None:
    with pytest.raises(UserError, match=f"2 layouts or more, or a range .* 8..64, not '{text}'$"):
        with_range(Design(), text)


def _document(ratio: float, significant: bool) -> StudyDocument:
    """A verdict on the study's own metric, between others that are much worse."""
    metric = verdict(9.0, (8.0, 10.0), metric="l1i_misses")
    own = verdict(ratio, (0.9, 1.1), significant=significant)
    workload = verdict(9.0, (8.0, 10.0), workload="pipe")
    return study_document([metric, own, workload])


@pytest.mark.parametrize(
    ("ratio", "significant", "limit", "expected"),
    [
        (1.01, True, 0.5, True),
        (1.01, True, 1.5, False),
        (0.99, True, 0.0, False),
        (1.01, False, 0.0, False),
    ],
)
def test_a_regression_is_significant_and_above_the_limit(
    ratio: float, significant: bool, limit: float, expected: bool
) -> None:
    assert is_regression(_document(ratio, significant), limit) is expected


@pytest.mark.parametrize(
    ("ratio", "limit", "expected"),
    [(0.99, 0.5, True), (0.99, 1.5, False), (1.01, 0.0, False), (9.0, 0.0, False)],
)
def test_of_throughput_less_is_a_regression(ratio: float, limit: float, expected: bool) -> None:
    own = verdict(ratio, (0.9, 1.1), metric="throughput")
    other = verdict(0.5, (0.4, 0.6))
    document = study_document([other, own])
    document = replace(
        document,
        study=replace(document.study, metric="throughput"),
        metrics=(*document.metrics, MetricView("throughput", "1/s", "", True, "", "higher")),
    )
    assert is_regression(document, limit) is expected
