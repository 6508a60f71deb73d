# SPDX-License-Identifier: GPL-2.0-or-later
"""A git tree → a folder. What an earlier export has already is linked, not written again.

Neighbouring revisions of a kernel differ in a handful of 80,000 files: an export of the second
one takes seconds and hardly any space. Nobody writes into exports, so hard links are safe.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from kernsmith.errors import ProcessFailed
from kernsmith.process import run

_SECONDS = 3600.0
# More differences than this, and a whole check-out is as quick.
_MOST_CHANGES = 20_000
_LOOKED_AT = 8


def export_tree(
    git: Sequence[str], tree: str, folder: Path, index: Path, earlier: Iterable[tuple[str, Path]]
) -> None:
    """Check a tree out into a new folder.

    git: the command with its `--git-dir=`, a private one: what the tree's attributes ask for is run
        by the user's own configuration alone. index: a file to use as git's index, so that neither
        the work tree nor the index of the user is touched (and, unlike with git archive, no
        export attribute leaves anything out).
    earlier: trees with the folders that they were exported to, the most likely ones first.
    """
    env: dict[str, str | None] = {"GIT_INDEX_FILE": str(index)}
    run([*git, "read-tree", tree], timeout=_SECONDS, env=env)
    near = _nearest(git, tree, earlier)
    folder.mkdir(exist_ok=True)
    # A bare repository has no work tree of its own.
    command = [*git, f"--work-tree={folder}", "checkout-index", f"--prefix={folder}/"]
    if near is None:
        run([*command, "--all"], timeout=_SECONDS, env=env)
        return
    base, changes = near
    run(["cp", "--archive", "--link", f"{base}/.", folder], timeout=_SECONDS)
    for path, status in changes.items():
        if status != "A":
            _remove(folder, path)
    wanted = "".join(f"{path}\0" for path, status in changes.items() if status != "D")
    run(
        [*command, "-z", "--stdin"],
        timeout=_SECONDS,
        env=env,
        input=wanted.encode(errors="surrogateescape"),
    )


def _nearest(
    git: Sequence[str], tree: str, earlier: Iterable[tuple[str, Path]]
) -> tuple[Path, dict[str, str]] | None:
    """The earlier export with the fewest differences, and these: path → git's status letter."""
    best: tuple[Path, dict[str, str]] | None = None
    for other, folder in list(earlier)[:_LOOKED_AT]:
        try:
            changes = _changes(git, other, tree)
        except ProcessFailed:  # a tree of another repository
            continue
        # Attributes may change how other files are checked out.
        if any(path.rpartition("/")[2] == ".gitattributes" for path in changes):
            continue
        if len(changes) <= _MOST_CHANGES and (best is None or len(changes) < len(best[1])):
            best = folder, changes
    return best


def _changes(git: Sequence[str], old: str, new: str) -> dict[str, str]:
    words = ["diff-tree", "-r", "-z", "--no-renames", "--name-status", old, new]
    values = run([*git, *words], timeout=_SECONDS, merge=False).output.split("\0")
    return dict(zip(values[1::2], values[0::2], strict=False))


def _remove(folder: Path, path: str) -> None:
    """Remove a file, and the folders that it leaves empty."""
    file = folder / path
    file.unlink()
    with suppress(OSError):
        for parent in file.relative_to(folder).parents:
            if parent != Path():
                (folder / parent).rmdir()
