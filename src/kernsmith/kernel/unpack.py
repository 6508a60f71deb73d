# SPDX-License-Identifier: GPL-2.0-or-later
"""A tarball → a folder that holds all of it, and from which nothing leads out."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from kernsmith.errors import UserError
from kernsmith.process import run

_SECONDS = 3600.0
# What GNU tar says when it makes a name harmless that would lead out of the folder.
_OUTSIDE = re.compile(r"Removing leading .(?P<what>.+). from (member names|hard link targets)")


def unpack(tarball: Path, tree: Path) -> None:
    """Unpack into ``tree``, without the single folder that a tarball may have at its top.

    Raises:
        ProcessFailed: tar ended with an error.
        UserError: names with a root or with ``..``, links that lead out of the tarball, a link in
            the place of the folder at the top, devices and pipes: no kernel source has them.
    """
    inside = tree.with_name("unpacked")
    inside.mkdir()
    command = ["tar", "--extract", "--force-local", "--no-same-owner", "--file", str(tarball)]
    said = run([*command, "--directory", str(inside)], timeout=_SECONDS).output
    if leads := _OUTSIDE.search(said):
        raise UserError(f"{tarball} is no source: names in it begin with {leads['what']}")
    found = list(inside.iterdir())
    if len(found) == 1 and found[0].is_dir() and not found[0].is_symlink():
        found[0].rename(tree)
        inside.rmdir()
    else:
        inside.rename(tree)
    for problem in _problems(tree):
        raise UserError(f"{tarball} is no source: {problem}")


def _problems(tree: Path) -> Iterator[str]:
    root = os.path.realpath(tree)
    for folder, folders, files in os.walk(root):
        for name in (*folders, *files):
            path = Path(folder, name)
            mode = path.lstat().st_mode
            shown = path.relative_to(root)
            if stat.S_ISLNK(mode):
                end = path.resolve()
                if not end.is_relative_to(root):
                    yield f"the link {shown} leads out of it, to {path.readlink()}"
            elif not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                yield f"{shown} is a device or a pipe"
