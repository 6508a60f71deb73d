# SPDX-License-Identifier: GPL-2.0-or-later
"""Source files by folder, the hottest first."""

from __future__ import annotations

from dataclasses import dataclass, field

from kernsmith.profile.coverage import Coverage, SourceFile


@dataclass
class Folder:
    """A folder with all that is in it. ran, lines: of code. path: ends with a slash."""

    name: str
    path: str
    executed: int = 0
    ran: int = 0
    lines: int = 0
    folders: list[Folder] = field(default_factory=list)
    files: list[SourceFile] = field(default_factory=list)


def folder_tree(coverage: Coverage) -> Folder:
    """All files; a folder that has nothing but one folder is told with it in one name."""
    top = Folder("", "")
    known = {"": top}
    for file in coverage.files:
        words = file.path.split("/")
        above = top
        _add(above, file)
        for depth in range(1, len(words)):
            path = "/".join(words[:depth]) + "/"
            if path not in known:
                known[path] = Folder(words[depth - 1] + "/", path)
                above.folders.append(known[path])
            above = known[path]
            _add(above, file)
        above.files.append(file)
    return _sorted(top)


def _add(folder: Folder, file: SourceFile) -> None:
    folder.executed += file.executed
    folder.ran += file.ran
    folder.lines += len(file.lines)


def _sorted(folder: Folder) -> Folder:
    for number, inner in enumerate(folder.folders):
        one = _sorted(inner)
        if len(one.folders) == 1 and not one.files:
            only = one.folders[0]
            only.name = one.name + only.name
            folder.folders[number] = only
    folder.folders.sort(key=lambda inner: (-inner.executed, inner.path))
    folder.files.sort(key=lambda file: (-file.executed, file.path))
    return folder
