# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of `kernsmith analyze`, opened and used in Debian's Chromium."""

from pathlib import Path

import pytest
from chromium import Chromium

from kernsmith.cli.analyze import analyze
from seed_data import march_file

pytestmark = pytest.mark.browser
ARTIFACTS = Path("build/test-artifacts")
HOSTILE = [
    "<script>document.title='owned'</script>",
    '=HYPERLINK("http://x")',
    "</script><b>'",
    "`{{1}}",
]


@pytest.fixture
def march_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    path = tmp_path / "march.html"
    analyze(
        march_file(), value="time(sec)", by=("march",), within="hostname", order="date", report=path
    )
    capsys.readouterr()
    return path


def test_the_march_patch(chromium: Chromium, march_page: Path) -> None:
    chromium.open(march_page)
    chromium.wait("document.documentElement.dataset.charts === 'interactive'")
    assert chromium.problems == []
    assert [u for u in chromium.requests if not u.startswith(("data:", "about:"))] == [
        march_page.resolve().as_uri()
    ]
    text = str(chromium.run("document.body.innerText"))
    for figure in ("12.8771", "28.9652", "15.1600", "0.5904", "group and time are confounded"):
        assert figure in text
    assert chromium.run("document.querySelectorAll('.vega-embed svg').length") == 10
    for scheme in ("light", "dark"):
        chromium.emulate(scheme=scheme)
        chromium.screenshot(ARTIFACTS / f"analyze-march-{scheme}.png")
    (ARTIFACTS / "analyze-march.pdf").write_bytes(chromium.print_pdf())


def test_sorting_the_overview_by_p(chromium: Chromium, march_page: Path) -> None:
    chromium.open(march_page)
    chromium.click("th:nth-child(7) button")
    groups = chromium.run(
        "[...document.querySelector('tbody').rows].map(row => row.cells[1].innerText)"
    )
    assert groups[0] == "Intel x86-64-v3"
    assert groups[-1] == "Intel x86-64-v3"
    assert chromium.run("document.querySelectorAll('th')[6].ariaSort") == "ascending"


def test_a_file_full_of_markup(
    chromium: Chromium, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, page = tmp_path / "<i>hostile.csv", tmp_path / "hostile.html"
    rows = "".join(
        '"{}",{}\n'.format(level.replace('"', '""'), index + step / 10)
        for step in range(6)
        for index, level in enumerate(HOSTILE, start=1)
    )
    file.write_text(f"<u>group</u>,<b>t.x['</b>\n{rows}")
    analyze(file, value="<b>t.x['</b>", by=("<u>group</u>",), report=page)
    capsys.readouterr()
    chromium.open(page)
    chromium.wait("document.documentElement.dataset.charts === 'interactive'")
    assert chromium.problems == []
    assert str(chromium.run("document.title")).startswith("<i>hostile.csv")
    assert chromium.run("document.querySelectorAll('b, u, i').length") == 0
    cells = chromium.run("[...document.querySelectorAll('td:first-child')].map(c => c.innerText)")
    assert set(HOSTILE) <= set(cells)
    assert chromium.run("document.querySelectorAll('.vega-embed svg').length") == 3
