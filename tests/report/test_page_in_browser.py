# SPDX-License-Identifier: GPL-2.0-or-later
"""A click through a page in Debian's Chromium. The screenshots stay in build/test-artifacts."""

from pathlib import Path

import pytest
from chromium import Chromium

from kernsmith.report.charts import box_plot, layout_plot
from kernsmith.report.page import (
    Chart,
    Code,
    Column,
    Details,
    Heading,
    Page,
    Table,
    Text,
    Verdict,
    write_page,
)

pytestmark = pytest.mark.browser
ARTIFACTS = Path("build/test-artifacts")
HOSTILE = "<img src=x onerror=alert(1)>"
SAMPLES = {
    "plain": [10.0, 10.2, 9.9, 10.1, 10.4, 9.8],
    HOSTILE: [9.0, 9.1, 8.9, 9.2, 9.0, 8.8],
}


def _page() -> Page:
    rows: list[list[str | float | None]] = [
        [f"variant {index:02}", float((index * 7) % 12) - 4.5] for index in range(12)
    ]
    return Page(
        "A page for the browser",
        [
            Verdict("faster by 10.0 %", "better"),
            Heading("Table"),
            Table(
                [Column("variant"), Column("change", "+.2f", "%")],
                [*rows, [HOSTILE, 99.0], ["no figure", None]],
                "Changes",
            ),
            Heading("Charts"),
            Chart(box_plot(SAMPLES, "time (s)"), "Box plot"),
            Chart(layout_plot(SAMPLES, "time (s)"), "Layouts"),
            Heading("More"),
            Details("Log", [Text("hidden until opened"), Code("make </script>")]),
        ],
        figures={"third": 1 / 3, "text": "</script>"},
    )


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "page.html"
    write_page(_page(), path)
    return path


@pytest.fixture
def browser(chromium: Chromium, page_file: Path) -> Chromium:
    chromium.open(page_file)
    return chromium


FIRST_CELLS = (
    "[...document.querySelectorAll('tbody tr:not([hidden])')].map(r => r.cells[%d].innerText)"
)


def _column(browser: Chromium, index: int) -> list[str]:
    return [str(text) for text in browser.run(FIRST_CELLS % index)]


def test_nothing_is_reported_in_the_console_and_nothing_is_fetched(
    browser: Chromium, page_file: Path
) -> None:
    browser.wait("document.documentElement.dataset.charts === 'interactive'")
    assert browser.problems == []
    assert browser.run("document.querySelectorAll('.vega-embed svg').length") == 2
    other = [url for url in browser.requests if not url.startswith(("data:", "about:"))]
    assert other == [page_file.resolve().as_uri()]


def test_a_click_on_a_header_sorts_by_the_unrounded_figures(browser: Chromium) -> None:
    browser.click("th:nth-child(2) button")
    shown = _column(browser, 1)
    assert shown[:2] == ["−4.50", "−3.50"]
    assert shown[-2:] == ["+99.00", "–"]
    browser.click("th:nth-child(2) button")
    shown = _column(browser, 1)
    assert (shown[0], shown[-1]) == ("+99.00", "–")
    assert browser.run("document.querySelectorAll('th')[1].ariaSort") == "descending"


def test_typing_into_the_filter_hides_rows_and_escape_shows_them(browser: Chromium) -> None:
    browser.click("input[type=search]")
    browser.type("variant 07")
    assert _column(browser, 0) == ["variant 07"]
    assert browser.run("document.querySelector('.count').innerText") == "1 of 14 rows"
    browser.press("Escape")
    assert len(_column(browser, 0)) == 14


def test_the_keyboard_reaches_and_works_everything(browser: Chromium) -> None:
    browser.press("Tab")
    assert browser.run("document.activeElement.className") == "skip"
    for _ in range(20):
        browser.press("Tab")
        if browser.run("document.activeElement.innerText") == "variant":
            break
    browser.press("Enter")
    assert browser.run("document.querySelector('th').ariaSort") == "ascending"
    assert browser.run("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    for _ in range(20):
        browser.press("Tab")
        if browser.run("document.activeElement.tagName") == "SUMMARY":
            break
    browser.press("Enter")
    assert browser.run("document.querySelector('details').open") is True


def test_cells_and_levels_are_text_never_markup(browser: Chromium) -> None:
    assert HOSTILE in _column(browser, 0)
    assert browser.run("document.querySelectorAll('img').length") == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_follow_the_scheme(browser: Chromium, scheme: str) -> None:
    browser.emulate(scheme=scheme)
    browser.wait("document.documentElement.dataset.charts === 'interactive'")
    paper = browser.run("getComputedStyle(document.body).backgroundColor")
    label = browser.run("getComputedStyle(document.querySelector('.chart svg text')).fill")
    ink = browser.run("getComputedStyle(document.body).color")
    assert paper == {"light": "rgb(255, 255, 255)", "dark": "rgb(15, 19, 24)"}[scheme]
    assert label == ink
    browser.screenshot(ARTIFACTS / f"page-{scheme}.png")


def test_every_sheet_of_a_printed_table_has_its_header(browser: Chromium) -> None:
    """Chromium repeats a header that cannot break, and draws a button in the first one only."""
    browser.emulate(media="print")
    style = "getComputedStyle(document.querySelector('{}')).{}"
    assert browser.run(style.format("thead", "display")) == "table-header-group"
    assert browser.run(style.format("thead", "breakInside")) == "avoid"
    assert browser.run(style.format("th button", "display")) == "contents"
    assert browser.run(style.format("th.number", "whiteSpace")) == "normal"


def test_it_prints_with_everything_opened(browser: Chromium) -> None:
    pdf = browser.print_pdf()
    assert pdf.startswith(b"%PDF")
    ARTIFACTS.mkdir(parents=True, exist_ok=True)
    (ARTIFACTS / "page.pdf").write_bytes(pdf)
    browser.emulate(media="print")
    assert browser.run("getComputedStyle(document.querySelector('.filter')).display") == "none"
    browser.run("dispatchEvent(new Event('beforeprint'))")
    assert browser.run("document.querySelector('details').open") is True


def test_figures_are_kept_unrounded(browser: Chromium) -> None:
    assert browser.run("JSON.parse(document.getElementById('figures').textContent)") == {
        "third": 1 / 3,
        "text": "</script>",
    }
