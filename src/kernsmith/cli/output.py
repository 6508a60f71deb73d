# SPDX-License-Identifier: GPL-2.0-or-later
"""Where results go: options whose value is checked before any work is done."""

from __future__ import annotations

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
