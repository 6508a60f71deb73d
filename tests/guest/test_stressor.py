# SPDX-License-Identifier: GPL-2.0-or-later
"""Any stressor of stress-ng by a word."""

from pathlib import Path

import pytest

from kernsmith.errors import UserError
from kernsmith.guest.own import parse_own_workload
from kernsmith.guest.stressor import stressor_file
from kernsmith.guest.workloads import load_catalogue


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNSMITH_CACHE", str(tmp_path / "cache"))


@pytest.mark.parametrize(
    ("word", "name", "operations"),
    [
        ("stress-ng:epoll:20000", "stress-ng-epoll-20000", 20_000),
        ("stress-ng:af-alg", "stress-ng-af-alg-1000", 1000),
    ],
)
def test_a_word_is_a_file_like_any_other(word: str, name: str, operations: int) -> None:
    path = stressor_file(word)
    said = parse_own_workload(path)
    assert (said.name, said.operations, said.unit) == (name, operations, "operation")
    assert said.root is not None and said.root.packages == ["stress-ng"]
    assert all((path.parent / file).exists() for file in (*said.files, said.check.output))
    assert stressor_file(word) == path


def test_a_study_selects_it_by_the_word() -> None:
    words = ["pipe", "stress-ng:brk:50"]
    catalogue = load_catalogue().including(words, look_only=True)
    assert [each.name for each in catalogue.select(words)] == ["pipe", "stress-ng-brk-50"]


@pytest.mark.parametrize(
    "word",
    ["stress-ng:", "stress-ng:Brk", "stress-ng:brk:0", "stress-ng:brk:x", "stress-ng:a/../b"],
)
def test_what_is_no_stressor_is_refused(word: str) -> None:
    with pytest.raises(UserError, match=r"is no stressor: stress-ng:NAME .* stress-ng:epoll:20000"):
        load_catalogue().including([word])
