# SPDX-License-Identifier: GPL-2.0-or-later
"""Documents as JSON text, and back: the only place where they are anything but values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from kernsmith.document.bisect import BisectDocument
from kernsmith.document.blame import BlameDocument
from kernsmith.document.layouts import OrdersDocument, SampleDocument
from kernsmith.document.shares import SharesDocument
from kernsmith.document.study import StudyDocument
from kernsmith.document.watch import WatchDocument
from kernsmith.errors import UserError
from kernsmith.foreign import read_json

Document = (
    StudyDocument
    | BisectDocument
    | BlameDocument
    | SharesDocument
    | WatchDocument
    | SampleDocument
    | OrdersDocument
)

_KINDS: tuple[type[Document], ...] = (
    StudyDocument,
    BisectDocument,
    BlameDocument,
    SharesDocument,
    WatchDocument,
    SampleDocument,
    OrdersDocument,
)


def as_json(document: Document) -> str:
    """The document as text, ended by a line end. NaN and infinity are null."""
    return json.dumps(as_plain(document), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def as_plain(value: Any) -> Any:
    """JSON-able: documents and their parts as objects, tuples as lists."""
    if is_dataclass(value):
        head = {}
        if isinstance(value, Document):
            head = {"format": value.FORMAT, "version": value.VERSION}
        return head | {field.name: as_plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {key: as_plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [as_plain(each) for each in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def read_document(path: Path) -> Document:
    """Read what `as_json` wrote.

    Raises:
        UserError: the file cannot be read, is no document, or is one of another version.
    """
    found = read_json(path, "the result")
    kind = _kind(path, found)
    try:
        return TypeAdapter(kind).validate_python(found)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        more = f" (and {error.error_count() - 1} more faults)" if error.error_count() > 1 else ""
        raise UserError(
            f"{path} is no whole {kind.FORMAT}: {place}: {first['msg']}{more}"
        ) from None


def schema() -> dict[str, Any]:
    """The JSON schema of a study's document."""
    found = TypeAdapter(StudyDocument).json_schema(mode="serialization")
    head = {
        "format": {"const": StudyDocument.FORMAT},
        "version": {"const": StudyDocument.VERSION},
    }
    return {
        **found,
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The result of a study: study.json, and what --json prints",
        "properties": {**head, **found["properties"]},
        "required": [*head, *found["required"]],
    }


def _kind(path: Path, found: Any) -> type[Document]:
    name = found.get("format") if isinstance(found, dict) else None
    kinds = [kind for kind in _KINDS if name == kind.FORMAT]
    if not kinds:
        formats = ", ".join(sorted({kind.FORMAT for kind in _KINDS}))
        raise UserError(f"{path} is no result of kernsmith: its `format` must be one of {formats}")
    if found.get("version") != kinds[0].VERSION:
        raise UserError(
            f"{path} is {name} of version {found.get('version')}, and this program reads version "
            f"{kinds[0].VERSION}: make it again with the command that made it"
        )
    if SampleDocument in kinds:
        return SampleDocument if "summary" in found else OrdersDocument
    return kinds[0]


if __name__ == "__main__":
    import sys

    sys.stdout.write(json.dumps(schema(), indent=1, ensure_ascii=False) + "\n")
