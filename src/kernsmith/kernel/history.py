# SPDX-License-Identifier: GPL-2.0-or-later
"""The history of a source: git bisects it in a private repository that borrows its objects.

The user's work tree, index, refs and bisect state stay as they are: the private repository is
bare, has `objects/info/alternates` to the user's objects, and nothing is ever checked out in it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kernsmith.errors import KernsmithError, ProcessFailed, UserError
from kernsmith.kernel.git import GIT_SECONDS, ask_git, borrow
from kernsmith.process import run

GOOD, BAD, SKIP = "good", "bad", "skip"
_FIRST_BAD = re.compile(r"^([0-9a-f]{40,64}) is the first bad commit$", re.MULTILINE)
_HASH_LINE = re.compile(r"^([0-9a-f]{40,64})$", re.MULTILINE)
_ONLY_SKIPPED = "first bad commit could be any of"


@dataclass(frozen=True)
class Commit:
    """A commit: its full hash, first line, author, and date (ISO 8601)."""

    id: str
    subject: str
    author: str
    date: str


@dataclass(frozen=True)
class Next:
    """Where a bisection stands.

    commit: what is to be tested next; empty when it is over.
    first_bad: the first bad commit, or all that it could be when the rest was skipped.
    left: about how many revisions are left to test after this one.
    """

    commit: str
    first_bad: tuple[str, ...] = ()
    left: int = 0


class Repository:
    """The user's repository, only read."""

    def __init__(self, folder: Path) -> None:
        """Raises UserError when there is no repository in the folder."""
        self.folder = folder
        if not folder.is_dir():
            raise UserError(f"there is no folder {folder}")
        try:
            self._git("rev-parse", "--git-dir")
        except ProcessFailed as failure:
            raise UserError(f"{folder}: {failure.tail}") from None

    def _git(self, *words: str) -> str:
        return ask_git(self.folder, *words)

    def commit(self, revision: str) -> Commit:
        """The commit of a revision. Raises UserError when there is none."""
        try:
            form = "--format=%H%x00%s%x00%an <%ae>%x00%cI"
            shown = self._git("show", "--no-patch", form, f"{revision}^{{commit}}", "--")
        except ProcessFailed:
            raise UserError(f"{self.folder} has no revision {revision}") from None
        return Commit(*shown.strip().split("\0"))

    def parent(self, commit: str) -> Commit:
        """The first parent. Raises UserError when there is none."""
        return self.commit(f"{commit}^1")

    def between(self, first: Commit, last: Commit, every: int) -> tuple[Commit, ...]:
        """Every so many commits from the first to the last, both included, along first parents.

        Raises:
            UserError: the first is not among the first parents of the last.
        """
        way = self._way(first, last, "--first-parent")
        if way and self.parent(way[0]).id != first.id:
            raise UserError(
                f"{first.id} is not among the first parents of {last.id}: ask for tags, or name "
                "revisions of one branch"
            )
        return tuple(self.commit(one) for one in _with_last([first.id, *way], every))

    def tagged(self, first: Commit, last: Commit, pattern: str) -> tuple[tuple[str, Commit], ...]:
        """Tags from the first commit to the last, each with its commit, oldest first; both ends
        are there, with an empty name where no tag is theirs.

        pattern: of names, as git has them (`v7.2.*`).

        Raises:
            UserError: the first does not lead to the last.
        """
        form = "--format=%(refname:short) %(*objectname) %(objectname)"
        names: dict[str, str] = {}
        for line in self._git("for-each-ref", form, f"refs/tags/{pattern}").splitlines():
            name, *ids = line.split()
            names.setdefault(ids[0], name)
        way = [first.id, *self._way(first, last)]
        ends = (first.id, last.id)
        return tuple(
            (names.get(one, ""), self.commit(one)) for one in way if one in names or one in ends
        )

    def check_ends(self, good: Commit, bad: Commit) -> None:
        """That a bisection may begin: where the good commit does not lead to the bad one, git tests
        first what both come from.

        Raises:
            UserError: the bad one leads to the good one, or they have nothing in common.
        """
        if good.id == bad.id:
            raise UserError(f"good and bad are the same commit {good.id}")
        if self._leads(bad, good):
            raise UserError(
                f"the good commit {good.id} comes from the bad one {bad.id}: good and bad look "
                "swapped"
            )
        try:
            self._git("merge-base", good.id, bad.id)
        except ProcessFailed:
            raise UserError(f"{good.id} and {bad.id} have no commit that both come from") from None

    def _leads(self, first: Commit, last: Commit) -> bool:
        """Whether the first is the last, or among the commits that this comes from."""
        try:
            self._git("merge-base", "--is-ancestor", first.id, last.id)
        except ProcessFailed:
            return False
        return True

    def _way(self, first: Commit, last: Commit, *words: str) -> list[str]:
        """What comes behind the first commit up to the last."""
        if not self._leads(first, last):
            swapped = ": the two look swapped" if self._leads(last, first) else ""
            raise UserError(f"{last.id} does not come from {first.id}{swapped}")
        order = ("--reverse", "--topo-order", *words, f"^{first.id}", last.id, "--")
        return self._git("rev-list", *order).split()


def _with_last(way: Sequence[str], every: int) -> list[str]:
    kept = list(way[::every])
    return kept if kept[-1] == way[-1] else [*kept, way[-1]]


class Bisection:
    """`git bisect` between two commits, in a private repository that may be made anew any time."""

    def __init__(self, repository: Repository, folder: Path) -> None:
        """folder: becomes the private repository; what was there before is removed."""
        self._git_dir = folder
        borrow(repository.folder, folder)

    def start(self, bad: str, good: str, decided: Sequence[tuple[str, str]] = ()) -> Next:
        """Begin between two commits, and repeat decisions (`good`, `bad` or `skip`, commit)."""
        self._git("update-ref", "--no-deref", "HEAD", bad)
        stands = self._bisect("start", "--no-checkout", bad, good)
        for word, commit in decided:
            stands = self.decide(word, commit)
        return stands

    def decide(self, word: str, commit: str) -> Next:
        """Tell git that a commit is good, bad, or cannot be tested."""
        return self._bisect(word, commit)

    @property
    def log(self) -> str:
        """What `git bisect log` says: can be replayed in any clone."""
        return self._git("bisect", "log")

    def _git(self, *words: str) -> str:
        return run(self._command(*words), timeout=GIT_SECONDS, merge=False).output

    def _command(self, *words: str) -> list[str]:
        return ["git", f"--git-dir={self._git_dir}", *words]

    def _bisect(self, *words: str) -> Next:
        done = run(self._command("bisect", *words), timeout=GIT_SECONDS, check=False)
        said = done.output
        if _ONLY_SKIPPED in said:
            return Next("", tuple(_HASH_LINE.findall(said)))
        if done.returncode:
            raise KernsmithError(f"git bisect cannot go on: {said.strip()}")
        if found := _FIRST_BAD.search(said):
            return Next("", (found[1],))
        left = re.search(r"Bisecting: (\d+) revision", said)
        return Next(self._git("rev-parse", "--verify", "BISECT_HEAD").strip(), left=_number(left))


def _number(found: re.Match[str] | None) -> int:
    return int(found[1]) if found else 0
