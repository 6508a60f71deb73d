# SPDX-License-Identifier: GPL-2.0-or-later
"""A history's pages, its comment, and what the terminal shows."""

from __future__ import annotations

import re
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from chromium import Chromium
from rich.console import Console

from kernsmith.report.watch.comment import watch_comment
from kernsmith.report.watch.site import INDEX, site_files
from kernsmith.report.watch.terminal import print_watch
from made_history import SLOW, hash_of, made_history

URL = "https://git.example.org/linux/commit/%s"
NASTY = "</script><img src=x onerror=alert(1)> | `x` [a](b) & 'quoted'"


def test_there_is_a_page_for_all_workloads_and_one_for_each() -> None:
    pages = site_files(made_history(commit_url=URL))
    assert set(pages) == {
        INDEX, "overall.html", "pipe.html", "fork.html", "mmap.html", "charts.js"
    }  # fmt: skip
    assert all(len(pages[name]) < 200_000 for name in pages if name.endswith(".html"))
    index = pages[INDEX]
    assert "model_cycles has changed" in index
    assert f'href="{URL.replace("%s", hash_of(SLOW))}"' in index
    assert 'href="pipe.html"' in index
    assert "Nothing has changed" in pages["fork.html"]
    assert f"since {SLOW:012x} change {SLOW}" in pages["pipe.html"]
    assert "study/report.html" not in index
    written = replace(made_history(), report="study/report.html")
    assert 'href="study/report.html"' in site_files(written)[INDEX]


def test_a_revision_leads_to_the_page_of_its_tag_where_that_is_asked() -> None:
    document = made_history(commit_url="https://git.example.org/linux/tag/?h=%t&c=%s")
    named = [replace(each, name=f"v6.12.{n} %s") for n, each in enumerate(document.revisions)]
    index = site_files(replace(document, revisions=tuple(named)))[INDEX]
    address = f"https://git.example.org/linux/tag/?h=v6.12.{SLOW}%20%25s&amp;c={hash_of(SLOW)}"
    assert address in index


def test_pages_do_not_say_where_they_were_written() -> None:
    pages = site_files(replace(made_history(), site="/home/ada/site"))
    assert not any("/home/ada" in text for text in pages.values())


def test_subjects_and_tags_are_text() -> None:
    document = made_history(subject=lambda number: NASTY)
    revisions = tuple(
        replace(each, name=f"v'{{{n}}}</b>") for n, each in enumerate(document.revisions)
    )
    files = site_files(replace(document, revisions=revisions))
    for html in (files[name] for name in files if name.endswith(".html")):
        assert "<img src=x" not in html
        assert "</script><img" not in html
    comment = watch_comment(document)
    assert "<img" not in comment
    assert "\\| \\`x\\` \\[a\\](b)" in comment


def test_the_comment_says_what_has_changed_and_what_the_newest_is() -> None:
    comment = watch_comment(made_history(commit_url=URL, broken=(2,)))
    assert comment.startswith("linux: model\\_cycles has changed")
    assert f"[{SLOW:012x}]({URL.replace('%s', hash_of(SLOW))})" in comment
    assert re.search(r"\| pipe \| \+\d\.\d\d % \(.*\) \| worse \|", comment)
    assert "00000000000b against v7.3.0, model\\_cycles" in comment
    assert "- 000000000002: " in comment
    assert "never held against a processor" in comment


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_terminal_shows_each_revision_in_the_width_that_there_is(width: int) -> None:
    console = Console(width=width, record=True, file=StringIO())
    print_watch(made_history(subject=lambda n: f"a long subject of change {n} " * 3), console)
    text = console.export_text()
    assert "pipe: model_cycles +" in text.replace("\n", " ")
    if width >= 80:
        table = [line for line in text.splitlines() if line.startswith("│")]
        assert len(table) == 12
        assert all(len(line) <= width for line in table)
        assert sum("%" in line.split("│")[3] for line in table) == 12


@pytest.mark.browser
def test_pages_open_without_a_fault_at_several_sizes(chromium: Chromium, tmp_path: Path) -> None:
    files = site_files(made_history(commit_url=URL))
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    for name in files.keys() - {"charts.js"}:
        for width in (390, 1200):
            chromium.call(
                "Emulation.setDeviceMetricsOverride",
                width=width, height=900, deviceScaleFactor=1, mobile=False,
            )  # fmt: skip
            chromium.open(tmp_path / name)
            chromium.wait("document.querySelector('.vega-embed') !== null")
            wide = chromium.run("document.documentElement.scrollWidth")
            assert wide <= width
    assert chromium.problems == []
