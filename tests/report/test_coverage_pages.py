# SPDX-License-Identifier: GPL-2.0-or-later
"""Pages of coverage: what they say, and that they work in a browser from a folder."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from chromium import Chromium

from kernsmith.errors import UserError
from kernsmith.profile.coverage import Coverage, FunctionCount, LineCount, SourceFile
from kernsmith.report.coverage.file_page import file_page
from kernsmith.report.coverage.pages import write_pages
from kernsmith.report.coverage.tree import folder_tree
from kernsmith.report.coverage.words import heat, page_link, page_path, share_text

TEXTS = {
    "kernel/fork.c": ["int copy(int n)", "{", "\tif (n < 1 && n)", "\t\treturn -1;", "}"],
    "mm/slab.c": ["</script><img src=x onerror=alert(1)>", "int slab(void) { return 1; }"],
}
FUNCTIONS = (
    FunctionCount("copy", 0, 1, 1000, 9000),
    FunctionCount("slab", 1, 2, 5, 900),
    FunctionCount("unused", 1, 1, 0, 0),
    FunctionCount("entry", None, 0, 7, 100),
)
COVERAGE = Coverage(
    files=(
        SourceFile(
            "kernel/fork.c",
            (LineCount(2, 1000, 4000, 0), LineCount(3, 1000, 5000, 0), LineCount(4, 0, 0, 0)),
        ),
        SourceFile("mm/slab.c", (LineCount(1, 0, 0, 2), LineCount(2, 5, 900, 1))),
    ),
    functions=FUNCTIONS,
    instances=(),
    samples=(),
    executed=10_000,
    build_id="ab" * 20,
    workloads=("pipe", "fork"),
)


class _Cells(HTMLParser):
    """Rows of the source: class and cells."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.rows: list[tuple[str, list[str]]] = []
        self._inside = False
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self._inside = self._inside or given.get("class") == "source"
        if self._inside and tag == "tr":
            self.rows.append((given.get("class") or "", []))
        if self._inside and tag == "td":
            self.rows[-1][1].append("")

    def handle_data(self, data: str) -> None:
        if self._inside and self.rows and self.rows[-1][1]:
            self.rows[-1][1][-1] += data.rstrip("\n")


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    folder = tmp_path / "coverage"
    assert write_pages(COVERAGE, TEXTS.get, folder, "pipe, <b>") == 0
    return folder


def test_each_line_has_its_count_share_heat_and_text(pages: Path) -> None:
    rows = _Cells((pages / "files/kernel/fork.c.html").read_text()).rows
    assert [(kind, cells[:3]) for kind, cells in rows] == [
        ("", ["1", "", ""]),
        ("h7", ["2", "1,000", "40.0%"]),
        ("h7", ["3", "1,000", "50.0%"]),
        ("no", ["4", "0", ""]),
        ("", ["5", "", ""]),
    ]
    assert [cells[3] for _, cells in rows] == TEXTS["kernel/fork.c"]


def test_a_file_without_text_shows_its_counts(tmp_path: Path) -> None:
    assert write_pages(COVERAGE, {}.get, tmp_path / "new", "x") == 2
    page = (tmp_path / "new/files/mm/slab.c.html").read_text()
    assert "Its text is not in the kernel's source" in page
    assert [cells[:2] for _, cells in _Cells(page).rows] == [["1", "0"], ["2", "5"]]


def test_stretches_are_of_functions_that_ran() -> None:
    page = file_page(COVERAGE, 0, TEXTS["kernel/fork.c"])
    assert [(stretch[:3], name) for stretch, name in page.silent] == [((4, 4, 1), "copy")]
    assert [(row.ran, row.lines, row.silent) for row in page.functions] == [(2, 3, 1)]
    assert file_page(COVERAGE, 1, None).silent == []


def test_folders_are_sorted_by_heat_and_single_ones_joined() -> None:
    deep = SourceFile("arch/x86/mm/fault.c", (LineCount(1, 1, 50, 1),))
    tree = folder_tree(Coverage((*COVERAGE.files, deep), FUNCTIONS, (), (), 10_000))
    assert [(inner.name, inner.executed) for inner in tree.folders] == [
        ("kernel/", 9000), ("mm/", 900), ("arch/x86/mm/", 50),
    ]  # fmt: skip
    assert (tree.executed, tree.ran, tree.lines) == (9950, 4, 6)


def test_all_links_lead_somewhere(pages: Path) -> None:
    for page in pages.rglob("*.html"):
        for link in re.findall(r'(?:href|src)="([^"]*)"', page.read_text()):
            path, _, anchor = link.partition("#")
            target = (page.parent / path).resolve() if path else page
            assert target.is_file(), (page, link)
            assert not anchor or re.search(rf"\bid=\"?{anchor}\b", target.read_text()), link


def test_pages_of_before_go_and_other_files_stay(pages: Path, tmp_path: Path) -> None:
    only = Coverage(COVERAGE.files[:1], FUNCTIONS[:1], (), (), 10_000)
    write_pages(only, TEXTS.get, pages, "x")
    assert sorted(path.name for path in pages.rglob("*.c.html")) == ["fork.c.html"]
    (pages / "mine.txt").write_text("x")
    with pytest.raises(UserError, match="has other files in it"):
        write_pages(only, TEXTS.get, pages, "x")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/index.html").write_text("mine")
    with pytest.raises(UserError, match="has other files in it"):
        write_pages(only, TEXTS.get, tmp_path / "mine", "x")
    with pytest.raises(UserError, match="cannot be written"):
        write_pages(only, TEXTS.get, tmp_path / "mine/index.html", "x")


def test_names_of_pages_stay_inside() -> None:
    assert page_path("../../etc/passwd") == "files/up/up/etc/passwd.html"
    assert page_path("/build/a#b.c") == "files/build/a#b.c.html"
    assert page_link("/build/a#b.c", 3) == "files/build/a%23b.c.html#L3"


@pytest.mark.parametrize(
    ("share", "text", "level"),
    [(0, "", 0), (1e-9, "", 1), (1.1e-4, "0.01%", 4), (0.0123, "1.23%", 6), (0.5, "50.0%", 7)],
)
def test_shares_and_heat(share: float, text: str, level: int) -> None:
    assert (share_text(share), heat(share)) == (text, level)


@pytest.mark.browser
def test_the_search_and_the_pages_work_from_a_folder(chromium: Chromium, pages: Path) -> None:
    names = "[...document.querySelectorAll('#results tbody a')].map(each => each.textContent)"
    chromium.open(pages / "index.html")
    chromium.click("#search")
    chromium.type("slab")
    assert chromium.run(names) == ["slab", "mm/slab.c", "unused"]
    assert chromium.run("document.getElementById('count').textContent") == "3 found"
    chromium.press("Escape")
    assert chromium.run("document.getElementById('results').hidden") is True
    chromium.run("location.hash = 'q=copy'")
    chromium.wait(f"JSON.stringify({names}) === '[\"copy\"]'")
    chromium.run("location.hash = 'mm/'")
    chromium.wait("document.getElementById('mm/').open")
    chromium.run("location.hash = 'q=copy'")
    chromium.wait(f"JSON.stringify({names}) === '[\"copy\"]'")
    chromium.run("document.querySelector('#results a').click()")
    chromium.wait("location.pathname.endsWith('fork.c.html') && location.hash === '#L1'")
    chromium.wait("document.readyState === 'complete'")
    sheet = "getComputedStyle(document.querySelector('tr.h7')).backgroundColor"
    assert chromium.run(sheet) == "rgba(235, 110, 0, 0.65)"
    assert chromium.problems == []
    assert all(url.startswith(("file:", "about:", "data:")) for url in chromium.requests)


@pytest.mark.browser
@pytest.mark.parametrize("name", ["index.html", "files/mm/slab.c.html"])
def test_a_page_fits_a_telephone(chromium: Chromium, pages: Path, name: str) -> None:
    chromium.call(
        "Emulation.setDeviceMetricsOverride",
        width=400, height=900, deviceScaleFactor=1, mobile=False,
    )  # fmt: skip
    chromium.call("Page.navigate", url=(pages / name).resolve().as_uri())
    chromium.wait("document.readyState === 'complete' && document.title !== ''")
    assert chromium.run("document.documentElement.scrollWidth") <= 400
    assert chromium.run("document.querySelectorAll('img').length") == 0
    assert json.dumps(chromium.problems) == "[]"
