# SPDX-License-Identifier: GPL-2.0-or-later
"""Files that others have written: text, TOML and JSON. What is wrong with one is one sentence.

All are UTF-8, with or without a byte order mark, and with line ends of either kind (editors of
Windows write a mark, and others).
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

from kernsmith.errors import UserError

_SHOWN = 120


def read_text(path: Path, what: str = "", most: int | None = None) -> str:
    """A file's text, without a byte order mark; its lines end in "\\n".

    what: what it should be, as in "the study"; for the sentences. most: so many bytes are allowed.

    Raises:
        UserError: it cannot be read, is longer, or is no text.
    """
    named = f"{what} {path}".lstrip()
    try:
        with path.open("rb") as file:
            data = file.read(-1 if most is None else most + 1)
    except OSError as error:
        raise UserError(f"cannot read {named}: {error.strerror}") from None
    if most is not None and len(data) > most:
        raise UserError(f"cannot read {named}: it has more than {most} bytes")
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise UserError(
            f"cannot read {named}: it is no text in UTF-8 (its byte {error.start + 1} is none)"
        ) from None


def read_toml(path: Path, what: str = "", most: int | None = None) -> dict[str, Any]:
    """The tables of a TOML file. what, most: see `read_text`.

    Raises:
        UserError: see `read_text`; or it is no TOML.
    """
    text = read_text(path, what, most)
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise UserError(f"{path} is not TOML that can be read: it is nested too deeply") from None
    except ValueError as error:  # also of a number without end
        raise UserError(f"{path} is not TOML: {one_line(str(error))}") from None


def read_json(path: Path, what: str = "") -> Any:
    """The value in a JSON file. what: see `read_text`.

    Raises:
        UserError: see `read_text`; or it is no JSON.
    """
    text = read_text(path, what)
    try:
        return json.loads(text)
    except RecursionError:
        raise UserError(f"{path} is not JSON that can be read: it is nested too deeply") from None
    except ValueError as error:
        raise UserError(f"{path} is not JSON: {one_line(str(error))}") from None


def one_line(text: str) -> str:
    """A text of a file's as part of a sentence: on one line, and not too long."""
    shown = text if text.isprintable() else repr(text)
    return shown if len(shown) <= _SHOWN else f"{shown[: _SHOWN - 1]}…"
