# SPDX-License-Identifier: GPL-2.0-or-later
"""A result in every form: terminal, page, Markdown, JSON; also of odd studies."""

import json
from dataclasses import replace

import pytest
from test_verdicts import OPTIMIZE, Figure, judged, layout_noise

from kernsmith.cli.outcome import exit_code, show
from kernsmith.document import StudyDocument
from kernsmith.machine.tcg import open_machine
from kernsmith.report.study.document import study_document
from kernsmith.report.study.markdown import study_markdown
from kernsmith.report.study.page import study_page
from kernsmith.study import Study


def document_of(study: Study, figure: Figure, failures: tuple[str, ...] = ()) -> StudyDocument:
    result = judged(study, figure)
    result = replace(
        result,
        prepared=replace(result.prepared, machine=open_machine("skylake")),
        failures=(*result.failures, *failures),
    )
    return replace(study_document(result), report="report.html")


def test_markdown_says_what_was_found_and_where() -> None:
    figure: Figure = lambda t: 1e6 * layout_noise(t) * (0.9 if t.variant.steps else 1)  # noqa: E731
    text = study_markdown(document_of(replace(OPTIMIZE, cpu="skylake"), figure))
    assert "- profile=autofdo: whole mix: faster by 10.0 %" in text
    assert "on tcg, CPU model" in text
    assert "8 random layouts" in text
    assert "| overall | 0.9000\\* |" in text
    assert "is a model" in text
    assert "skylake was never held against a processor" in text
    assert "0.979 (wrong sign)" in text
    assert "What failed" not in text


def test_the_colour_knows_the_direction() -> None:
    figure: Figure = lambda t: 1e6 * layout_noise(t) * (0.9 if t.variant.steps else 1)  # noqa: E731
    document = document_of(OPTIMIZE, figure)
    more = replace(
        document, metrics=tuple(replace(each, better="higher") for each in document.metrics)
    )
    assert 'class="verdict better"' in study_page(document)
    assert 'class="verdict worse"' in study_page(more)


def test_failures_have_a_heading_and_a_line_each() -> None:
    document = document_of(OPTIMIZE, lambda t: 1e6, ("does not build:\n    error: one\n  two",))
    text = study_markdown(document)
    assert "## What failed\n\n- does not build: error: one two\n" in text


def test_what_a_source_is_too_old_for_is_said_and_no_failure() -> None:
    plain = document_of(OPTIMIZE, lambda t: 1e6)
    patch = "--- a/an.h\n+++ b/an.h\n"
    variants = tuple(replace(v, provenance=PROVENANCE | {"patch": patch}) for v in plain.variants)
    document = replace(plain, remarks=("it has no such step",), variants=variants)
    text = study_markdown(document)
    assert "## What is otherwise than asked\n\n- it has no such step\n" in text
    page = study_page(document)
    assert page.count("<summary>Patch of ") == 1
    assert "+++ b/an.h" in page
    assert exit_code(document) == 0
    assert "otherwise than asked" not in study_markdown(plain)
    assert "otherwise than asked" not in study_page(plain)


def test_packages_that_were_made_stand_in_the_place_of_the_command() -> None:
    plain = document_of(OPTIMIZE, lambda t: 1e6)
    command = tuple(replace(v, package_command="kernsmith package x") for v in plain.variants)
    made = tuple(replace(v, packages=("/p/linux-image.deb",)) for v in command)
    assert "kernsmith package x" in study_page(replace(plain, variants=command))
    page, figures = study_page(replace(plain, variants=made)).split('id="figures"')
    assert "/p/linux-image.deb" in page
    assert "kernsmith package x" not in page
    assert "kernsmith package x" in figures


PROVENANCE = dict.fromkeys(
    ("compiler", "linker", "vmlinux_sha256", "build_id", "config_sha256", "built_at"), "x"
) | {"objects": 1, "seconds": 1.0, "command": ["make"]}


def test_one_variant_has_no_verdicts_but_layouts(capsys: pytest.CaptureFixture[str]) -> None:
    document = document_of(replace(OPTIMIZE, factors=()), lambda t: 1e6 * layout_noise(t))
    text = study_markdown(document)
    assert "| default | -" in text
    assert "relative to" not in text
    assert "one variant" in study_page(document)
    show(document, as_json=False)
    assert "whole design" not in capsys.readouterr().out


def test_json_has_no_infinity(capsys: pytest.CaptureFixture[str]) -> None:
    document = replace(document_of(OPTIMIZE, lambda t: 1e6), seconds=float("inf"))
    show(document, as_json=True)
    printed = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert printed["seconds"] is None
