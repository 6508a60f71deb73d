# SPDX-License-Identifier: GPL-2.0-or-later
"""Where results go: options whose value is checked before any work is done."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from kernsmith.errors import UserError


def check_file(path: Path) -> None:
    """Raises UserError: a file cannot be written there, for that is a folder, or below a file."""
    if path.is_dir():
        raise UserError(f"{path} is a folder: name the file that is to be written")
    _check_above(path)


def check_folder(path: Path) -> None:
    """Raises UserError: there can be no such folder, for that is a file, or below one."""
    if path.exists() and not path.is_dir():
        raise UserError(f"{path} is a file: name the folder that results are to be written to")
    _check_above(path)


def check_outputs(written: Sequence[Path | None], read: Sequence[Path] = ()) -> None:
    """Before any work: what is read is not written onto, and each output has a place of its own.

    written: None is not asked for. read: also what is not there, such as the name of a kernel.

    Raises:
        UserError: one of them is one of the others, by whatever name or link.
    """
    named = [path for path in written if path is not None]
    for number, path in enumerate(named):
        if any(_is_same(path, each) for each in read):
            raise UserError(f"{path} is what is read here: write into another file")
        if path.resolve() in (other.resolve() for other in named[:number]):
            raise UserError(f"{path} is to be written twice: give each output a name of its own")


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def _check_above(path: Path) -> None:
    above = next(each for each in path.absolute().parents if each.exists())
    if not above.is_dir():
        raise UserError(f"{path} cannot be written: {above} is no folder")


def _file(kind: Any, path: Path | None) -> None:
    if path is not None:
        check_file(path)


def _folder(kind: Any, path: Path | None) -> None:
    if path is not None:
        check_folder(path)


NewFile = Annotated[Path, Parameter(validator=_file)]
"""A file that is written, or written anew."""
OutputFile = Annotated[Path, Parameter(name=["--output", "-o"], validator=_file)]
OutputFolder = Annotated[Path, Parameter(name=["--output", "-o"], validator=_folder)]
