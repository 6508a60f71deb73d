# SPDX-License-Identifier: GPL-2.0-or-later
"""Patched kernel trees that cost nothing: links into the original, but for the patched files."""

from pathlib import Path
from subprocess import run

from kernsmith.kernel.cpu.patch import KCONFIG, MAKEFILE, make_patch


def linked_tree(original: Path, folder: Path) -> Path:
    """A tree of links to `original`, in which the files of the patch are copies."""
    _link_all(original, folder, {"arch"})
    _link_all(original / "arch", folder / "arch", {"x86"})
    own = {Path(name).name for name in (KCONFIG, MAKEFILE)}
    _link_all(original / "arch/x86", folder / "arch/x86", own)
    for name in (KCONFIG, MAKEFILE):
        (folder / name).write_bytes((original / name).read_bytes())
    return folder


def patched_tree(original: Path, folder: Path) -> Path:
    """A linked tree with the patch applied by patch(1)."""
    tree = linked_tree(original, folder)
    text = make_patch(original).text
    run(["patch", "-p1", "--silent"], cwd=tree, input=text, text=True, check=True)
    return tree


def _link_all(original: Path, folder: Path, but: set[str]) -> None:
    folder.mkdir()
    for entry in original.iterdir():
        if entry.name not in but:
            (folder / entry.name).symlink_to(entry)
