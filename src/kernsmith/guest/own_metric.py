# SPDX-License-Identifier: GPL-2.0-or-later
"""Figures that a workload tells itself, as its file says of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

MOST_METRICS = 16
"""guest/own/figures.c has no place for more, nor for longer names."""
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}", re.ASCII)

Better = Literal["lower", "higher"]


@dataclass(frozen=True)
class OwnMetric:
    """A figure that a workload tells itself. better: whether less of it is good, or more."""

    name: str
    unit: str
    better: Better = "lower"


class MetricTable(BaseModel):
    """What a file says of one; a text is its unit.

    better: whether less of it is good, as of time, or more, as of throughput.
    """

    model_config = ConfigDict(extra="forbid")

    unit: Annotated[str, Field(max_length=16, pattern=r"^[\w/%µ. -]*$")]
    better: Better = "lower"

    @model_validator(mode="before")
    @classmethod
    def _in_short(cls, said: object) -> object:
        return {"unit": said} if isinstance(said, str) else said


def check_names(names: Mapping[str, object]) -> None:
    """That all of them can be names of metrics.

    Raises:
        ValueError: the first that cannot.
    """
    for name in names:
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no name: small letters, digits and _, up to 40")


def told(tables: Mapping[str, MetricTable]) -> tuple[OwnMetric, ...]:
    """The metrics of a file."""
    return tuple(OwnMetric(name, each.unit, each.better) for name, each in tables.items())
