# SPDX-License-Identifier: GPL-2.0-or-later
"""The hottest functions in a study's report, and where their names lead."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from counted_kernel import make_counted_kernel, random_counts
from documents import study_document, verdict
from kernsmith.document import HotFunctionView, HottestView
from kernsmith.document.text import as_json, read_document
from kernsmith.profile import write_counts
from kernsmith.report.page import Column, Link, Page, Table, render_page
from kernsmith.report.study.hottest import coverage_beside
from kernsmith.report.study.page import study_page

HOTTEST = HottestView(
    "ab" * 20,
    ("pipe",),
    "/cache/made.counts",
    900,
    (HotFunctionView("anon_pipe_write", 0.25, 1000), HotFunctionView("memcpy.llvm.7", 0.125, 7)),
)
STUDY = replace(study_document([verdict(0.9, (0.8, 0.95))]), hottest=HOTTEST)


def test_names_lead_to_pages_of_coverage_where_there_are_some() -> None:
    page = study_page(STUDY)
    assert "Hottest functions (2 rows)" in page
    assert "of 900 functions that ran are 38% of all executed code" in page
    assert "kernsmith profile coverage --study" in page
    assert "coverage/index.html" not in page
    page = study_page(STUDY, coverage="coverage/index.html")
    assert '<a href="coverage/index.html#q=anon_pipe_write">anon_pipe_write</a>' in page
    assert '<a href="coverage/index.html#q=memcpy">memcpy.llvm.7</a>' in page
    assert "kernsmith profile coverage --study" not in page


def test_a_study_that_trained_nothing_has_no_such_table() -> None:
    assert "Hottest functions" not in study_page(replace(STUDY, hottest=None))


def test_links_are_text_never_markup() -> None:
    link = Link("<b>", '"><script>')
    page = render_page(Page("x", [Table([Column("name")], [[link]])]))
    assert '<a href="&#34;&gt;&lt;script&gt;">&lt;b&gt;</a>' in page


def test_coverage_of_a_study_goes_beside_its_report(tmp_path: Path) -> None:
    (tmp_path / "kernel").mkdir()
    vmlinux = make_counted_kernel(tmp_path / "kernel")
    counts = tmp_path / "made.counts"
    write_counts(random_counts(vmlinux, 3), counts)
    document = replace(STUDY, hottest=replace(HOTTEST, counts=str(counts)))
    folder = tmp_path / "result"
    folder.mkdir()
    (folder / "study.json").write_text(as_json(document))
    command = [sys.executable, "-m", "kernsmith", "profile", "coverage", "--study", str(folder)]
    words = ["--kernel", str(vmlinux), "--source", str(vmlinux.parent), "--json"]
    told = subprocess.run([*command, *words], capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr
    assert json.loads(told.stdout)["index"] == str(folder / "coverage/index.html")
    assert coverage_beside(folder / "report.html") == "coverage/index.html"
    assert "coverage/index.html#q=anon_pipe_write" in (folder / "report.html").read_text()


@pytest.mark.parametrize(
    ("hottest", "words", "sentence"),
    [
        (None, (), "has no training: give files of counts"),
        (HOTTEST, (), "are no longer in /cache/made.counts"),
        (HOTTEST, ("x.counts",), "give files of counts, or --study, not both"),
    ],
)
def test_studies_without_coverage(
    tmp_path: Path, hottest: HottestView | None, words: tuple[str, ...], sentence: str
) -> None:
    path = tmp_path / "study.json"
    path.write_text(as_json(replace(STUDY, hottest=hottest)))
    assert read_document(path) == replace(STUDY, hottest=hottest)
    command = [sys.executable, "-m", "kernsmith", "profile", "coverage", *words, "--study", path]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (told.returncode, told.stderr.count("\n")) == (2, 1)
    assert sentence in told.stderr
