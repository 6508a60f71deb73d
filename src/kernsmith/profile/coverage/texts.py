# SPDX-License-Identifier: GPL-2.0-or-later
"""The text of the source that a kernel was built from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernsmith import paths
from kernsmith.errors import UserError
from kernsmith.kernel.artifact import Kernel, load_kernel
from kernsmith.profile.coverage.coverage import Coverage


@dataclass(frozen=True)
class SourceTexts:
    """Where the files are that line tables name: the tree, and kbuild's output folder."""

    roots: tuple[Path, ...]

    def path(self, name: str) -> Path | None:
        """The file; None when there is none, or it would be outside of these folders."""
        for root in self.roots:
            for part in _endings(name):
                path = (root / part).resolve()
                if path.is_relative_to(root.resolve()) and path.is_file():
                    return path
        return None

    def lines(self, name: str) -> list[str] | None:
        """Its lines; None when it is not there."""
        path = self.path(name)
        try:
            text = path.read_bytes().decode("utf-8", "replace") if path else None
        except OSError:
            return None
        # Not splitlines: form feeds do not end a line of C.
        return None if text is None else text.removesuffix("\n").split("\n")


def _endings(name: str) -> Iterator[str]:
    """Where a file may be in a tree: an absolute name is of the machine that compiled it."""
    yield name
    rest = name.strip("/") if name.startswith("/") else ""
    while rest:
        yield rest
        rest = rest.partition("/")[2]


def counted_kernel(build_id: str) -> Kernel | None:
    """The kernel in the cache that has this build id."""
    for folder in sorted(paths.kernels().glob("*")):
        kernel = load_kernel(folder)
        if kernel and build_id and kernel.build_id == build_id:
            return kernel
    return None


def find_texts(coverage: Coverage, vmlinux: Path, given: Path | None) -> SourceTexts:
    """The source of a kernel that kernsmith built, or of another one in a folder that is given.

    Raises:
        UserError: no code with lines was counted; neither is known, the folder has gone, or none of
            the files is in it.
    """
    if not coverage.files:
        raise UserError(
            f"the counts are all of code of {vmlinux} that has no lines, such as assembly: there "
            "is no source to show"
        )
    roots = [given] if given else _roots(coverage, vmlinux)
    for root in roots[:1]:
        if not root.is_dir():
            raise UserError(
                f"the source of {vmlinux} is no longer in {root}: give the folder with "
                "--source FOLDER, or build the kernel again (kernsmith fetches its source)"
            )
    texts = SourceTexts(tuple(roots))
    if not any(texts.path(file.path) for file in coverage.files):
        raise UserError(
            f"{roots[0]} has none of the files that {vmlinux} was made from, as "
            f"{coverage.files[0].path}: give the folder of its source with --source FOLDER"
        )
    return texts


def _roots(coverage: Coverage, vmlinux: Path) -> Sequence[Path]:
    kernel = counted_kernel(coverage.build_id)
    if kernel is None:
        raise UserError(
            f"{vmlinux} is of no kernel in the cache (build id {coverage.build_id or 'absent'}): "
            "give the folder of its source with --source FOLDER"
        )
    return kernel.tree, kernel.output
