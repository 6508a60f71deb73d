# SPDX-License-Identifier: GPL-2.0-or-later
"""git on a repository that may be a stranger's, without running what its configuration names.

A repository's own configuration and hooks can make git start programs: `core.fsmonitor` and hooks
for an index, filters for files, `log.showSignature` and `gpg.program` for commits, a remote for
objects that a partial clone lacks. So such a repository is only asked for names (`rev-parse`,
`show`), with all of that turned off; what touches files or an index is done in a private
repository that borrows its objects (gitrepository-layout(5), objects/info/alternates) and has a
configuration of its own.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from kernsmith.process import run

GIT_SECONDS = 600.0

# git(1): nothing is fetched, asked for, shown in a pager, or written by the way.
ENVIRONMENT: dict[str, str | None] = {
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_EXTERNAL_DIFF": None,
    "GIT_DIR": None,
    "GIT_INDEX_FILE": None,
    "GIT_WORK_TREE": None,
}
_OFF = (
    "core.fsmonitor=false", "core.hooksPath=/dev/null", "core.sshCommand=false", "core.pager=cat",
    "log.showSignature=false", "gpg.program=false",
)  # fmt: skip


def ask_git(repository: Path, *words: str) -> str:
    """What git says of a repository: for commands that touch neither files nor an index.

    Raises:
        ProcessFailed: git ended with an error.
    """
    off = [word for setting in _OFF for word in ("-c", setting)]
    command = ["git", *off, "-C", str(repository), *words]
    return run(command, timeout=GIT_SECONDS, env=ENVIRONMENT, merge=False).output


def git_path(repository: Path, name: str) -> Path:
    """Where git keeps something of a repository, absolute."""
    return (repository / ask_git(repository, "rev-parse", "--git-path", name).strip()).resolve()


def borrow(repository: Path, folder: Path) -> list[str]:
    """Make a private repository in a folder that has the objects of another, and nothing else.

    What was in the folder is removed. Returns the command that git is started with in it.

    Raises:
        ProcessFailed: `repository` is none, or another user's.
    """
    form = ask_git(repository, "rev-parse", "--show-object-format").strip()
    shutil.rmtree(folder, ignore_errors=True)
    init = ["git", "init", "--quiet", "--bare", "--template=", f"--object-format={form}"]
    run([*init, str(folder)], timeout=GIT_SECONDS, env=ENVIRONMENT)
    alternates = folder / "objects/info/alternates"
    alternates.parent.mkdir(parents=True, exist_ok=True)
    alternates.write_text(f"{git_path(repository, 'objects')}\n", encoding="utf-8")
    if (shallow := git_path(repository, "shallow")).exists():
        shutil.copyfile(shallow, folder / "shallow")
    return ["git", f"--git-dir={folder}"]


def clean_tree(tree: Path, private: Path) -> str | None:
    """The id of HEAD's tree when a work tree has no changes, else None.

    private: a folder for a private repository with a copy of the index.

    Raises:
        ProcessFailed: no commit yet, another user's folder, a broken index.
    """
    commit, head = (
        ask_git(tree, "rev-parse", "--verify", name).strip() for name in ("HEAD", "HEAD^{tree}")
    )
    git = borrow(tree, private)
    (private / "HEAD").write_text(f"{commit}\n")
    for name in ("index", "info/exclude"):
        if (own := git_path(tree, name)).is_file():
            (private / name).parent.mkdir(exist_ok=True)
            shutil.copyfile(own, private / name)
    words = ["status", "--porcelain", "--untracked-files=normal", "--ignore-submodules=dirty"]
    changes = run(
        [*git, "-C", str(tree), f"--work-tree={tree}", "-c", "core.bare=false", *words],
        timeout=GIT_SECONDS,
        env=ENVIRONMENT,
        merge=False,
    ).output
    return None if changes.strip() else head
