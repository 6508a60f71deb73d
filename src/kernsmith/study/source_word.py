# SPDX-License-Identifier: GPL-2.0-or-later
"""The word for a source, as a user writes it: a folder, a tarball, a git revision, Debian's.

The one place that takes such a word apart. What it names is looked for by `kernel.source`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from kernsmith.errors import UserError

TARBALLS = (".tar", ".tar.xz", ".tar.gz", ".tgz", ".tar.zst", ".tar.bz2")
KINDS = "debian:VERSION, git:FOLDER@REVISION, a folder, or a tarball (.tar.xz, .gz, .zst, .bz2)"

# A folder may have an @ in its name, and a revision too, but only as in HEAD@{1}, @{u} or @.
_GIT = re.compile(r"git:(?P<folder>.+)@(?!\{)(?P<revision>.+)", re.DOTALL)

Kind = Literal["folder", "tarball", "git", "debian"]


@dataclass(frozen=True)
class SourceWord:
    """A source as it was named.

    kind: what the word says that it is; only the disk tells whether a path is there.
    path: of the folder, the tarball, or the git repository; as written. Empty for Debian's.
    revision: of a repository; the version of a Debian kernel source (`7.3`).
    """

    kind: Kind
    path: str = ""
    revision: str = ""

    def __str__(self) -> str:
        if self.kind == "git":
            return f"git:{self.path}@{self.revision}"
        return f"debian:{self.revision}" if self.kind == "debian" else self.path

    def at(self, revision: str) -> SourceWord:
        """A revision of the repository that is, or lies in, this folder.

        Raises:
            UserError: no folder and no repository, or no revision.
        """
        if self.kind not in ("folder", "git"):
            raise UserError(f"source {str(self)!r} has no revisions: they are a git repository's")
        return _checked(SourceWord("git", self.path, revision))

    def beside(self, folder: Path) -> SourceWord:
        """The same source with an absolute path, relative ones taken from `folder`.

        What is not there stays as it was written.
        """
        if not self.path:
            return self
        path = path_beside(folder, self.path)
        marks = ("Kconfig", ".git", "objects")
        found = is_there(path) and (path.is_file() or any(is_there(path / m) for m in marks))
        return replace(self, path=str(path.resolve())) if found else self


def parse_source(text: str) -> SourceWord:
    """The source that a word names.

    Raises:
        UserError: `git:` without folder or revision, `debian:` without two numbers, nothing.
    """
    if text.startswith("git:"):
        match = _GIT.fullmatch(text)
        if not match:
            raise UserError(f"source {text!r}: write it as git:FOLDER@REVISION")
        return _checked(SourceWord("git", match["folder"], match["revision"]))
    if text.startswith("debian:"):
        version = text.removeprefix("debian:")
        if not re.fullmatch(r"\d+\.\d+", version, re.ASCII):
            raise UserError(
                f"source {text!r}: the version of a Debian kernel source has two numbers, as in "
                "debian:7.3"
            )
        return SourceWord("debian", revision=version)
    if not text.strip():
        raise UserError(f"a source must not be empty; allowed is {KINDS}")
    return SourceWord("tarball" if text.endswith(TARBALLS) else "folder", text)


def _checked(word: SourceWord) -> SourceWord:
    if not word.path or not word.revision:
        raise UserError(f"source {str(word)!r}: write it as git:FOLDER@REVISION")
    if word.revision.startswith("-"):
        raise UserError(f"source {str(word)!r}: a git revision does not begin with '-'")
    return word


def path_beside(folder: Path, text: str) -> Path:
    """The path that a word may be, relative ones taken from `folder`, `~` a home."""
    try:
        return folder / Path(text).expanduser()
    except RuntimeError:  # the home of nobody that the system knows
        return folder / text


def is_there(path: Path) -> bool:
    """Whether there is something at a path; a path that the system cannot have is not there."""
    try:
        return path.exists()
    except OSError:
        return False
