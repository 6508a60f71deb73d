# SPDX-License-Identifier: GPL-2.0-or-later
"""git bisects in a repository of its own; the user's is only read."""

import subprocess
from pathlib import Path

import pytest

from kernsmith.errors import KernsmithError, UserError
from kernsmith.kernel.history import BAD, GOOD, SKIP, Bisection, Next, Repository


def _git(folder: Path, *words: str) -> str:
    identity = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
    command = ["git", *identity, "-C", str(folder), *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def series(tmp_path: Path) -> Path:
    """Nine commits; what is in the file is their number."""
    folder = tmp_path / "linux"
    folder.mkdir()
    _git(folder, "init", "-q")
    for number in range(1, 10):
        (folder / "number").write_text(f"{number}\n")
        _git(folder, "add", "number")
        _git(folder, "commit", "-qm", f"number {number}")
    return folder


def _judge(folder: Path, commit: str, first_bad: int, broken: set[int]) -> str:
    number = int(_git(folder, "show", f"{commit}:number"))
    return SKIP if number in broken else BAD if number >= first_bad else GOOD


def _go(series: Path, bisection: Bisection, stands: Next, first_bad: int, broken: set[int]) -> Next:
    while stands.commit:
        stands = bisection.decide(_judge(series, stands.commit, first_bad, broken), stands.commit)
    return stands


def _state(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("first_bad", range(2, 10))
def test_the_first_bad_commit_is_found(series: Path, tmp_path: Path, first_bad: int) -> None:
    before = _state(series)
    repository = Repository(series)
    good, bad = repository.commit("HEAD~8"), repository.commit("HEAD")
    bisection = Bisection(repository, tmp_path / "private")
    stands = _go(series, bisection, bisection.start(bad.id, good.id), first_bad, set())
    (found,) = stands.first_bad
    commit = repository.commit(found)
    assert commit.subject == f"number {first_bad}"
    assert repository.parent(found).subject == f"number {first_bad - 1}"
    assert "git bisect start" in bisection.log
    assert _state(series) == before


def test_what_cannot_be_tested_is_skipped(series: Path, tmp_path: Path) -> None:
    repository = Repository(series)
    ends = repository.commit("HEAD").id, repository.commit("HEAD~8").id
    bisection = Bisection(repository, tmp_path / "private")
    aside = _go(series, bisection, bisection.start(*ends), 7, {3, 5})
    assert [repository.commit(c).subject for c in aside.first_bad] == ["number 7"]
    hidden = _go(series, bisection, bisection.start(*ends), 7, {6})
    assert {repository.commit(c).subject for c in hidden.first_bad} == {"number 6", "number 7"}


def test_decisions_can_be_repeated(series: Path, tmp_path: Path) -> None:
    """After a kill: the private repository is made anew, what was decided leads to one place."""
    repository = Repository(series)
    ends = repository.commit("HEAD").id, repository.commit("HEAD~8").id
    first = Bisection(repository, tmp_path / "one")
    stands = first.start(*ends)
    decided = [(_judge(series, stands.commit, 4, set()), stands.commit)]
    stands = first.decide(*decided[0])
    assert Bisection(repository, tmp_path / "two").start(*ends, decided) == stands


def test_a_good_revision_that_is_no_ancestor_is_told(series: Path, tmp_path: Path) -> None:
    repository = Repository(series)
    bisection = Bisection(repository, tmp_path / "private")
    with pytest.raises(KernsmithError, match="git bisect cannot go on"):
        bisection.start(repository.commit("HEAD~8").id, repository.commit("HEAD").id)


def test_ends_between_which_nothing_can_be_bisected_are_told(series: Path) -> None:
    repository = Repository(series)
    older, newer = repository.commit("HEAD~8"), repository.commit("HEAD")
    repository.check_ends(older, newer)
    with pytest.raises(UserError, match="the same commit"):
        repository.check_ends(older, older)
    with pytest.raises(UserError, match="good and bad look swapped"):
        repository.check_ends(newer, older)
    _git(series, "checkout", "-qb", "side", "HEAD~4")
    _git(series, "commit", "-qm", "on the side", "--allow-empty")
    repository.check_ends(repository.commit("side"), newer)
    _git(series, "checkout", "-q", "--orphan", "alone")
    _git(series, "commit", "-qm", "alone", "--allow-empty")
    with pytest.raises(UserError, match="have no commit that both come from"):
        repository.check_ends(repository.commit("alone"), newer)


def test_what_is_no_repository_or_no_revision_is_one_sentence(series: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is no folder"):
        Repository(tmp_path / "nowhere")
    (tmp_path / "plain").mkdir()
    with pytest.raises(UserError, match="not a git repository"):
        Repository(tmp_path / "plain")
    with pytest.raises(UserError, match="has no revision v9"):
        Repository(series).commit("v9")
    with pytest.raises(UserError, match="has no revision"):
        Repository(series).parent(Repository(series).commit("HEAD~8").id)


def test_a_range_is_every_so_many_commits_with_both_ends(series: Path) -> None:
    repository = Repository(series)
    first, last = repository.commit("HEAD~8"), repository.commit("HEAD")
    for every, numbers in ((1, "123456789"), (3, "1479"), (5, "169"), (50, "19")):
        found = repository.between(first, last, every)
        assert [each.subject for each in found] == [f"number {number}" for number in numbers]
    assert repository.between(first, first, 2) == (first,)
    with pytest.raises(UserError, match=r"does not come from \w+: the two look swapped$"):
        repository.between(last, first, 1)


def test_tags_of_a_range_with_both_ends(series: Path) -> None:
    _git(series, "tag", "v1", "HEAD~8")
    _git(series, "tag", "-am", "an annotated one", "v1.1", "HEAD~5")
    _git(series, "tag", "other", "HEAD~3")
    repository = Repository(series)
    first, last = repository.commit("HEAD~7"), repository.commit("HEAD")
    found = repository.tagged(first, last, "v*")
    assert [(name, each.subject) for name, each in found] == [
        ("", "number 2"), ("v1.1", "number 4"), ("", "number 9"),
    ]  # fmt: skip
    assert [name for name, _ in repository.tagged(first, last, "*")] == ["", "v1.1", "other", ""]


def test_the_first_parents_of_a_merge_are_one_range_and_what_was_merged_is_none(
    series: Path,
) -> None:
    _git(series, "checkout", "-qb", "side", "HEAD~4")
    (series / "side").write_text("one\n")
    _git(series, "add", "side")
    _git(series, "commit", "-qm", "on the side")
    side = Repository(series).commit("side")
    _git(series, "checkout", "-q", "-")
    _git(series, "merge", "-qm", "merged", "side")
    repository = Repository(series)
    last = repository.commit("HEAD")
    found = repository.between(repository.commit("HEAD~2"), last, 1)
    assert [each.subject for each in found] == ["number 8", "number 9", "merged"]
    with pytest.raises(UserError, match="not among the first parents"):
        repository.between(side, last, 1)
