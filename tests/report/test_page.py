# SPDX-License-Identifier: GPL-2.0-or-later
"""The page and its sections without a browser."""

import json
import re
from math import inf, nan

import pytest

from kernsmith.report.page import (
    Bullets,
    Code,
    Column,
    Details,
    Heading,
    Page,
    Section,
    Table,
    Text,
    Value,
    Verdict,
    cell_text,
    embed_json,
    render_page,
)
from kernsmith.report.plain import as_markdown, as_text

HOSTILE = "</script><img src=x onerror=alert(1)>"
SECTIONS: list[Section] = [
    Heading("Groups"),
    Verdict("faster by 10 %", "better"),
    Text("A paragraph."),
    Bullets(["one", "two"]),
    Table([Column("group"), Column("change", "+.2f", "%")], [["a|b", -1.0], ["c", None]], "All"),
    Details("More", [Code("make `all`")]),
]


def test_it_is_one_file_that_asks_for_nothing() -> None:
    page = render_page(Page("title", SECTIONS))
    assert "default-src 'none'" in page
    assert not re.search(r"""(src|href)=["'](?!data:|#)""", page)
    assert len(page) < 20_000  # no chart, no Vega: 1 MB less


def test_nothing_becomes_markup() -> None:
    page = render_page(
        Page(
            HOSTILE,
            [
                Heading(HOSTILE), Text(HOSTILE), Verdict(HOSTILE), Bullets([HOSTILE]),
                Code(HOSTILE, HOSTILE), Details(HOSTILE, []),
                Table([Column(HOSTILE, unit=HOSTILE)], [[HOSTILE]], HOSTILE),
            ],
            subtitle=HOSTILE, figures={HOSTILE: HOSTILE}, footer=[HOSTILE],
        )
    )  # fmt: skip
    assert "<img" not in page


def test_figures_survive_embedding() -> None:
    text = embed_json({"x": f"{HOSTILE}&\u2028"})
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == {"x": f"{HOSTILE}&\u2028"}


@pytest.mark.parametrize(
    ("value", "shown"),
    [(1.23456, "1.23"), (-2e-9, "-2e-09"), (None, "–"), (nan, "–"), (inf, "∞"), (-inf, "-∞"),
     (True, "yes"), (False, "no"), (3, "3"), ("x", "x")],
)  # fmt: skip
def test_cells(value: Value, shown: str) -> None:
    assert cell_text(value, Column("figure", ".3g")) == shown


def test_the_same_sections_as_text() -> None:
    assert as_text(SECTIONS) == (
        "Groups\n======\n\n"
        "Better: faster by 10 %\n\n"
        "A paragraph.\n\n"
        "- one\n- two\n\n"
        "All\n"
        "group  change (%)\n"
        "-----  ----------\n"
        "a|b         -1.00\n"
        "c               –\n\n"
        "More\n\n    make `all`\n"
    )


def test_the_same_sections_as_markdown() -> None:
    text = as_markdown(SECTIONS)
    assert "## Groups\n" in text
    assert "**Better:** faster by 10 %" in text
    assert "| group | change (%) |\n| --- | ---: |\n| a\\|b | -1.00 |\n| c | – |" in text
    assert "<details><summary>More</summary>\n\n```\nmake `all`\n```" in text
