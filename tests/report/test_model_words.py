# SPDX-License-Identifier: GPL-2.0-or-later
"""A verdict on the model has two uncertainties: over layouts, and of the model itself."""

from dataclasses import replace

from documents import study_document, verdict
from kernsmith.document import HeldView
from kernsmith.report.study.markdown import study_markdown
from kernsmith.report.study.page import study_page

HELD = HeldView("Some Processor", "2026-11", 5, 7, 9.1, 2.0, 8.5, 93.0, 0.5, 0.97)


def test_a_model_that_was_held_says_how_far_off_it_is() -> None:
    document = study_document([verdict(0.9, (0.88, 0.92), model_points=2.0)])
    document = replace(document, machine=replace(document.machine, held=HELD))
    for view in (study_markdown(document), study_page(document)):
        assert "± 2.0 points of the model" in view
        assert "held against Some Processor in 2026-11" in view
        assert "never held" not in view


def test_a_model_that_was_not_says_so() -> None:
    document = study_document([verdict(0.9, (0.88, 0.92))])
    for view in (study_markdown(document), study_page(document)):
        assert "of a model that was never held against a processor" in view
        assert "skylake was never held against a processor" in view


def test_what_is_counted_needs_no_such_words() -> None:
    document = study_document([verdict(0.9, (0.88, 0.92), metric="kernel_instructions")])
    document = replace(document, study=replace(document.study, metric="kernel_instructions"))
    assert "never held" not in study_markdown(document)


def test_the_depth_is_told_with_what_it_sees() -> None:
    usual = study_document([verdict(0.9, (0.88, 0.92))])
    core = replace(usual, machine=replace(usual.machine, conditions={"depth": "core"}))
    for show in (study_markdown, study_page):
        assert "does not see data caches" in show(usual)
        assert "its data caches and TLBs" in show(core)
        assert "does not see data caches" not in show(core)
        assert "skylake (depth core) was never held against a processor" in show(core)
