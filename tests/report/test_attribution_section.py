# SPDX-License-Identifier: GPL-2.0-or-later
"""The functions that make a difference, in a study's report."""

from dataclasses import replace

from documents import study_document, verdict
from kernsmith.document import (
    AttributionView,
    CacheSetView,
    CollidingPairView,
    CollisionsView,
    FlameNodeView,
    FlameView,
    FunctionCostView,
)
from kernsmith.report.study.attribution import stacks_file
from kernsmith.report.study.markdown import study_markdown
from kernsmith.report.study.page import study_page
from kernsmith.report.study.words import attribution_lines

ONE = FunctionCostView("copy_page<b>", -1.25, (900.0, 500.0), (800.0, 700.0), (9.0, 3.0), (0, 0),
                       (5.0, 4.0))  # fmt: skip
FOUND = AttributionView("B", True, ("pipe", "file"), -10.0, -8.5, -0.25, 1234, (ONE,))
COLLIDING = CollisionsView(
    8, 64, (1200.0, 900.0), (10.0, 9.0), (300.0, 90.0),
    (CollidingPairView("", "read<b>", (70.5, 0.0), (20.5, 0.0)),),
    (CacheSetView(17, (9, 8), (1e5, 9e4), (700.0, 500.0), (200.0, 50.0), ("read", "write")),),
)  # fmt: skip
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


def test_what_collides_is_told_and_folded() -> None:
    page = study_page(replace(STUDY, attributions=(replace(FOUND, collisions=COLLIDING),)))
    assert "<summary>B: what collides in L1i (1 pairs of functions, 1 sets)</summary>" in page
    assert "A: 1,200 L1i misses a million instructions, 25% conflicts, 1 of 1 sets" in page
    assert "B: 900 L1i misses a million instructions, 10% conflicts, 0 of 1 sets" in page
    assert "user mode" in page
    assert "read&lt;b&gt;" in page
    assert "read, write" in page
    assert "what collides" not in study_page(replace(STUDY, attributions=(FOUND,)))


def test_the_terminal_has_it_in_two_lines() -> None:
    found = replace(FOUND, collisions=COLLIDING)
    where, collides = attribution_lines(replace(STUDY, attributions=(found,)), "B")
    assert where == (
        "from default layout to default layout -10.00 % model_cycles; by function most: "
        "copy_page<b> -1.25"
    )
    assert collides == (
        "L1i misses that placement is to blame for: 300 → 90 a million instructions, of 1,200 → 900"
    )
    assert attribution_lines(STUDY, "B") == []


def test_stacks_are_drawn_in_both_widths() -> None:
    nodes = (FlameNodeView(None, "entry", (10.0, 5.0)), FlameNodeView(0, "copy<b>", (30.0, 20.0)))
    flame = FlameView(nodes, 0.002)
    page = study_page(replace(STUDY, attributions=(replace(FOUND, flame=flame),)))
    assert page.count('<svg class="flame"') == 2
    assert "0.2% of the returns led to no call" in page
    assert "flamegraph.pl stacks/B.difffolded" in page
    assert "copy<b>" not in page
    assert "copy&lt;b&gt;: 75.00 % → 50.00 % (−25.00)" in page
    sure = replace(FOUND, flame=replace(flame, lost=0.0))
    assert "of the returns" not in study_page(replace(STUDY, attributions=(sure,)))


def test_a_variant_s_file_of_stacks_is_in_one_folder() -> None:
    assert stacks_file("../a b/c+d=-O2") == "stacks/.._a_b_c+d=-O2.difffolded"


def test_without_costs_by_function_there_is_no_section() -> None:
    assert "Which functions make the difference" not in study_page(STUDY)


def test_markdown_has_it_in_few_words() -> None:
    text = study_markdown(replace(STUDY, attributions=(replace(FOUND, collisions=COLLIDING),)))
    assert "B from default layout to default layout, by function: -10.00 % model\\_cycles" in text
    assert "| copy\\_page&lt;b&gt; | -1.25 |" in text
    assert "| all others | -8.75 |" in text
    assert "B: 900 L1i misses a million instructions, 10% conflicts" in text
    assert "default layout, by function" not in study_markdown(STUDY)
