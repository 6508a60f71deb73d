# SPDX-License-Identifier: GPL-2.0-or-later
"""The functions that make a difference, in a study's report."""

from dataclasses import replace

from documents import study_document, verdict
from kernsmith.document import AttributionView, FunctionCostView
from kernsmith.report.study.page import study_page

ONE = FunctionCostView("copy_page<b>", -1.25, (900.0, 500.0), (800.0, 700.0), (9.0, 3.0), (0, 0),
                       (5.0, 4.0))  # fmt: skip
FOUND = AttributionView("B", True, ("pipe", "file"), -10.0, -8.5, -0.25, 1234, (ONE,))
STUDY = study_document([verdict(0.9, (0.8, 0.95))])


def test_the_picture_says_how_much_and_the_table_where() -> None:
    page = study_page(replace(STUDY, attributions=(FOUND,)))
    assert "Which functions make the difference" in page
    assert "B from default layout to default layout: -10.00 % model_cycles" in page
    assert (
        "the 1 of 1,234 functions that changed most; repeated string instructions -0.25 %" in page
    )
    assert "copy_page&lt;b&gt;" in page
    assert "copy_page<b>" not in page
    assert "wherever they were inlined" in page
    by_symbol = study_page(replace(STUDY, attributions=(replace(FOUND, by_source=False),)))
    assert "A function that is inlined elsewhere is a part of that one" in by_symbol
    assert "all other functions" in page


def test_without_costs_by_function_there_is_no_section() -> None:
    assert "Which functions make the difference" not in study_page(STUDY)
