# SPDX-License-Identifier: GPL-2.0-or-later
"""How long each step of a study took, as it is told."""

from dataclasses import replace

from documents import study_document, verdict
from kernsmith.document import StepTimeView
from kernsmith.report.study.page import study_page
from kernsmith.report.study.steps import took

STEPS = (
    StepTimeView("kernel profile=none", 1500.0),
    StepTimeView("link 2 layouts", 0.4),
    StepTimeView("replay 96 trials", 480.0),
    StepTimeView("selftests: 2 boots", 20.0),
)
STUDY = replace(study_document([verdict(0.9, (0.8, 0.95))]), seconds=2000.4, steps=STEPS)


def test_the_page_has_a_row_for_each_that_took_a_second() -> None:
    page = study_page(STUDY)
    assert "How long each step took" in page
    for told in ("kernel profile=none", "25 min", "replay 96 trials", "selftests: 2 boots"):
        assert told in page
    assert "<td>link 2 layouts</td>" not in page


def test_the_terminal_has_those_that_took_most() -> None:
    words = "took 33 min: kernel profile=none 25 min, replay 96 trials 8 min"
    assert took(STUDY) == words
    assert took(replace(STUDY, steps=())) == "took 33 min"
    assert took(replace(STUDY, seconds=None)) == ""


def test_without_steps_there_is_no_table() -> None:
    assert "How long each step took" not in study_page(replace(STUDY, steps=()))
