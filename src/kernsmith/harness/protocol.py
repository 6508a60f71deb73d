# SPDX-License-Identifier: GPL-2.0-or-later
"""What a harness's file holds: values, each of one run, with all that tells them apart.

A new format is one module of this package with one name in it, `FORMAT`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import isfinite
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from kernsmith.csvfile.numbers import LARGEST, SMALLEST
from kernsmith.stats.benchmarks import Better

SECONDS = "seconds"


class Malformed(ValueError):
    """A file is of a format, and yet not as that format is. The text says in which way."""


@dataclass(frozen=True)
class Measure:
    """What a value measures.

    name: the metric's, or, where the format has only that, the unit's.
    better: None where the format does not say.
    unit: of the values, where the name does not have it; empty without one.
    """

    name: str
    better: Better | None = "lower"
    unit: str = ""


@dataclass(frozen=True)
class Row:
    """One value. labels: what it was measured on or with. line: in its file; 0 where unknown."""

    benchmark: str
    measure: Measure
    value: float
    labels: Mapping[str, str] = field(default_factory=dict)
    line: int = 0


@dataclass(frozen=True)
class Table:
    """All of a file.

    groups: labels whose levels the harness itself compares; empty where it compares files.
    identity: labels that belong to the benchmark's name: values that differ in one of them are
        never taken for runs of the same.
    apart: as identity, of benchmarks of which the files have several levels; others go by their
        name alone.
    settings: labels that keep values of one file apart only where a group has several levels.
    headline: the measure that is meant where none is asked for; None where none stands out.
    spanning: the groups have names of their own, so that files are compared by them.
    ordered: the rows are in the order of the runs.
    notes: what was left out, or understood in a certain way.
    """

    rows: tuple[Row, ...]
    groups: tuple[str, ...] = ()
    identity: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    headline: str | None = None
    spanning: bool = False
    ordered: bool = False
    notes: tuple[str, ...] = ()


_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
_HALF_PAIR = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class Content:
    """A file's text."""

    text: str

    @cached_property
    def json(self) -> Any:
        """The text as JSON; None where it is none.

        Halves of surrogate pairs (`"\\ud800"`), which no file can hold, become U+FFFD.
        """
        if self.text.lstrip()[:1] not in ("{", "["):
            return None
        try:
            document = json.loads(self.text)
            if _SURROGATE_ESCAPE.search(self.text) is None:
                return document
            text = json.dumps(document, ensure_ascii=False)
            return json.loads(_HALF_PAIR.sub("\ufffd", text))
        except (ValueError, RecursionError):
            return None


@dataclass(frozen=True)
class Format:
    """A format of files.

    name: of the harness. what: of it is read, for people.
    read: the table; None where the content is of another format.

    `read` raises `Malformed`.
    """

    name: str
    what: str
    read: Callable[[Content], Table | None]


Model = TypeVar("Model", bound=BaseModel)


def validated(model: type[Model], document: Any) -> Model:
    """A JSON document as a value of its model.

    Raises:
        Malformed: names the key that is not as it should be.
    """
    try:
        return model.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the document"
        raise Malformed(f"{where}: {first['msg'][0].lower()}{first['msg'][1:]}") from None


def number(text: str | float, where: str) -> float:
    """A finite value of a size that the statistics can bear.

    Raises:
        Malformed: it is none; says where.
    """
    try:
        value = float(text)
    except (ValueError, OverflowError):
        raise Malformed(f"{where}: {shortened(str(text))!r} is not a number") from None
    if not isfinite(value):
        raise Malformed(f"{where}: values must be finite, not {value}")
    if value and not SMALLEST <= abs(value) <= LARGEST:
        raise Malformed(f"{where}: {value:g} is not between {SMALLEST:g} and {LARGEST:g} in size")
    return value


def shortened(text: str, most: int = 40) -> str:
    """The beginning of a text that may be long."""
    return text if len(text) <= most else text[:most] + "…"
