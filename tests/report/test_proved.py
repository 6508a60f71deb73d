# SPDX-License-Identifier: GPL-2.0-or-later
"""A package that was installed and booted, in words, and what a wrong one does to the exit code."""

from dataclasses import replace

import pytest

from documents import study_document, verdict
from kernsmith.cli.outcome import exit_code
from kernsmith.document import FactView, ProvedView
from kernsmith.document.text import as_plain
from kernsmith.report.study.markdown import study_markdown
from kernsmith.report.study.page import study_page
from kernsmith.report.study.proved import proved_lines

RIGHT = FactView("uname -r", "7.3.4-web", "7.3.4-web", True)
WRONG = FactView("build id", "cd", "ab", False)
PROVED = ProvedView("B", "linux-image.deb", (RIGHT,), "", "", 85.2, "proof/console.log")


def test_what_holds_is_one_sentence_and_a_table() -> None:
    document = replace(study_document([verdict(0.9)]), proved=(PROVED,))
    (line,) = proved_lines(document)
    assert line.startswith("the package of B: proved: installed in a fresh Debian it boots from ")
    assert line.endswith("(login after 85 s)")
    assert line in study_markdown(document)
    page = study_page(document)
    assert line in page and "7.3.4-web" in page
    assert exit_code(document) == 0
    assert as_plain(document)["proved"][0]["facts"][0]["seen"] == "7.3.4-web"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (replace(PROVED, facts=(RIGHT, WRONG)), "is not what it says: build id: cd, not ab"),
        (
            replace(PROVED, facts=(), failed="the kernel panicked"),
            "could not be installed, or did not boot: the kernel panicked",
        ),
    ],
)
def test_what_does_not_hold_is_a_warning_and_ends_with_1(answer: ProvedView, words: str) -> None:
    document = replace(study_document([verdict(0.9)]), proved=(answer,))
    (line,) = proved_lines(document)
    assert line == f"the package of B: {words}"
    assert f"</strong> {line}</p>" in study_page(document)
    assert exit_code(document) == 1


def test_what_could_not_be_asked_is_told_and_is_no_failure() -> None:
    answer = replace(PROVED, facts=(), reason="its config does not set CONFIG_EXT4_FS")
    document = replace(study_document([verdict(0.9)]), proved=(answer,))
    assert proved_lines(document) == [
        "the package of B: not proved: its config does not set CONFIG_EXT4_FS"
    ]
    assert exit_code(document) == 0
