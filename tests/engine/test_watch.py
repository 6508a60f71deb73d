# SPDX-License-Identifier: GPL-2.0-or-later
"""What a study of revisions tells of a source's history."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernsmith.document import WatchDocument
from kernsmith.document.text import as_json, read_document
from kernsmith.engine.watch import study_of
from kernsmith.kernel.history import Repository
from kernsmith.study import Study
from made_history import LAYOUTS, REVISIONS, SLOW, hash_of, made_history, made_revisions


def test_a_change_point_is_told_of_its_workload_with_the_revision_that_brought_it() -> None:
    document = made_history()
    histories = {each.workload: each for each in document.histories}
    assert list(histories) == ["overall", "pipe", "fork", "mmap"]
    (change_point,) = histories["pipe"].change_points
    assert (change_point.revision, change_point.before, change_point.worse) == (
        SLOW,
        SLOW - 1,
        True,
    )
    assert change_point.change == pytest.approx(2.02, abs=0.3)
    assert change_point.p < 0.05
    assert histories["fork"].change_points == histories["mmap"].change_points == ()
    assert [len(each.points) for each in document.histories] == [REVISIONS] * 4
    assert {each.layouts for each in document.histories} == {LAYOUTS}


def test_luck_alone_is_told_as_nothing() -> None:
    found = [made_history(slower=0.0, seed=seed).change_points for seed in range(20)]
    assert sum(bool(each) for each in found) <= 3


def test_points_are_changes_against_the_oldest_revision_with_their_intervals() -> None:
    pipe = made_history().histories[1]
    first, last = pipe.points[0], pipe.points[-1]
    assert (first.change, first.default_change) == (0, 0)
    assert last.ci is not None
    assert last.ci[0] is not None
    assert last.ci[1] is not None
    assert last.ci[0] < last.change < last.ci[1]
    assert last.change == pytest.approx(2.0, abs=0.5)
    assert last.figure == pytest.approx(1.02e6, rel=0.01)


def test_a_revision_that_failed_is_left_out_and_told() -> None:
    document = made_history(broken=(3, SLOW))
    assert [n for n, each in enumerate(document.revisions) if each.failed] == [3, SLOW]
    assert "panic" in document.revisions[3].failed
    pipe = document.histories[1]
    assert [point.revision for point in pipe.points] == [
        n for n in range(REVISIONS) if n not in (3, SLOW)
    ]
    (change_point,) = pipe.change_points
    assert (change_point.revision, change_point.before) == (SLOW + 1, SLOW - 1)
    assert document.failures


def test_one_revision_with_figures_is_a_history_without_change_points() -> None:
    document = made_history(broken=range(1, REVISIONS))
    assert [len(each.points) for each in document.histories] == [1] * 4
    assert not document.change_points


def test_the_document_is_read_as_it_was_written(tmp_path: Path) -> None:
    document = made_history(commit_url="https://git.example.org/%s")
    path = tmp_path / "watch.json"
    path.write_text(as_json(document))
    assert isinstance(read := read_document(path), WatchDocument)
    assert read == document


def test_the_study_has_a_variant_for_each_revision(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    for name in ("objects", "refs"):
        (tmp_path / ".git" / name).mkdir()
    revisions = made_revisions()
    study = study_of(Study("", "lab", ()), Repository(tmp_path), revisions)
    assert [name for name, _ in study.variants] == [each.variant for each in revisions]
    assert revisions[4].variant == "v7.3.4 000000000004"
    assert study.source == f"git:{tmp_path}@{hash_of(0)}"
