# SPDX-License-Identifier: GPL-2.0-or-later
"""Documents as JSON and back, and the files that are refused."""

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from documents import study_document, verdict
from kernsmith.cli.report import report
from kernsmith.document import (
    BisectDocument,
    BlameDocument,
    BlamedView,
    CommitView,
    FunctionShareView,
    LabView,
    MixChangeView,
    MixedSideView,
    MixTestView,
    NarrowedView,
    OrdersDocument,
    SharesDocument,
    ShareView,
    StepView,
)
from kernsmith.document.text import as_json, as_plain, read_document, schema
from kernsmith.errors import UserError

STUDY = study_document([verdict(0.9, (0.8, None), default_ratio=0.7), verdict(1.0, None)])
COMMIT = CommitView("a" * 40, "subject", "author", "2026-01-01")
STEP = StepView("a" * 40, "subject", "bad", "reason", 1.0, 0.5, 1.5, 4, 7.0, 0.5, "model_cycles")
BISECT = BisectDocument(
    COMMIT, COMMIT, "model_cycles", 0.5, STEP, (STEP,), (COMMIT,), "log", STUDY, "report.html"
)
BLAME = BlameDocument(
    MixedSideView("default", "a" * 64, "/k/a/vmlinux"),
    MixedSideView("optimisation=O3", "b" * 64, "/k/b/vmlinux"),
    "good", "pipe", "model_cycles", 900, 300,
    (
        MixTestView(1, 300, "bad", "it differs", 9.5, 4.0, 3.5, 4.5, 4),
        MixTestView(2, 1, "bad", "over layouts it is beyond +2 %", 9.5, 3.0, 2.5, None, 4),
    ),
    (BlamedView("fs/pipe.o", ("anon_pipe_read", "f"), (NarrowedView(("f",), ("g",)),)),),
    limit=2.0, vmlinux="/k/mixed/vmlinux",
)  # fmt: skip
SHARES = SharesDocument(
    BLAME.good, BLAME.bad, "good", ("pipe",), "model_cycles", "skylake", 32, 0.05, 900, 300, 120,
    MixChangeView(300, -4.0, -4.5, -3.5),
    (
        ShareView(
            "fs/pipe.o", -1.4, (FunctionShareView("anon_pipe_read", -0.9),),
            -1.2, -1.3, -1.1, 0.0001, True,
        ),
    ),
    (ShareView("mm/slub.o", 0.2, (), failure="pipe: panic: it died"),),
    MixChangeView(1, -1.2, -1.25, -1.15), -0.4, 0.1,
)  # fmt: skip
ORDERS = OrdersDocument(
    LabView("k" * 20, "/k/vmlinux", "skylake", ("pipe",), 100, 1),
    {"all workloads": {"default": {"model_cycles": 1.0}, "c3": {"model_cycles": 0.97}}},
    {"default": {"pipe": {"model_cycles": 100.0}}, "c3": {"pipe": {"model_cycles": 97.0}}},
)


@pytest.mark.parametrize("document", [STUDY, BISECT, BLAME, SHARES, ORDERS], ids=lambda d: d.FORMAT)
def test_what_is_written_is_read_again(
    document: BisectDocument, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, page = tmp_path / "result.json", tmp_path / "page.html"
    path.write_text(as_json(document))
    assert read_document(path) == document
    assert report(str(path), output=page) == 0
    assert capsys.readouterr().out == f"wrote {page}\n"
    assert "kernsmith:" in page.read_text()


def test_a_study_that_was_written_before_mixes_were_told_is_read(tmp_path: Path) -> None:
    plain = as_plain(STUDY)
    for key in ("mixes", "luck", "report"):
        del plain[key]
    path = tmp_path / "study.json"
    path.write_text(json.dumps(plain))
    read = read_document(path)
    assert read == replace(STUDY, mixes=(), luck=(), report="")


def test_the_documented_schema_is_the_programs_own() -> None:
    """docs/study-json.schema.json is written by: python -m kernsmith.document.text"""
    docs = Path(__file__).parents[2] / "docs"
    assert json.loads((docs / "study-json.schema.json").read_text()) == schema()
    jsonschema.validate(as_plain(STUDY), schema())


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("{", "is not JSON"),
        ("[]", "is no result of kernsmith: its `format` must be one of kernsmith-bisect, kern"),
        ('{"format": "kernsmith-study", "version": 9}', "of version 9, and this program reads"),
        ('{"format": "kernsmith-layouts", "version": 1}', "make it again with the command"),
        ('{"format": "kernsmith-study", "version": 1}', "no whole kernsmith-study: kernsmith: "),
    ],
)
def test_files_that_are_no_result(tmp_path: Path, content: str, sentence: str) -> None:
    path = tmp_path / "study.json"
    path.write_text(content)
    with pytest.raises(UserError) as caught:
        report(str(path), output=tmp_path / "page.html")
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"cannot read the result .*missing\.json: No such file"):
        report(str(tmp_path / "missing.json"), output=tmp_path / "page.html")


def test_a_file_that_contradicts_itself_is_one_sentence(tmp_path: Path) -> None:
    plain = as_plain(STUDY)
    plain["variants"][0]["provenance"] = {"objects": 1}
    path, page = tmp_path / "study.json", tmp_path / "page.html"
    path.write_text(json.dumps(plain))
    with pytest.raises(UserError, match=r"study\.json contradicts itself: .*KeyError"):
        report(str(path), output=page)
    assert not page.exists()
