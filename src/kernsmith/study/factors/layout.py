# SPDX-License-Identifier: GPL-2.0-or-later
"""`layout`: in which orders of functions a kernel is linked. The kernel's objects stay the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from kernsmith.errors import UserError
from kernsmith.study.factors.protocol import Factor, LevelError, file_beside
from kernsmith.study.layout import PROFILE, read_layout_level


def _check(level: str) -> None:
    try:
        read_layout_level(level)
    except UserError as error:
        raise LevelError(str(error)) from None


def _path(level: str) -> str:
    named = read_layout_level(level).named
    return "" if named == PROFILE else named


def _locate(level: str, folder: Path) -> str:
    named = _path(level)
    return level.replace(named, file_beside(named, folder), 1) if named else level


FACTOR = Factor(
    name="layout",
    description="random (drawn [design].layouts times; without this factor all are), default, "
    "order:FILE, or profile: the order that calls of the training workloads give; the last two "
    "with +random shuffle what they do not name, with +random+jitter:N move what they do",
    apply=lambda variant, level: replace(variant, layout=read_layout_level(level)),
    allow=_check,
    locate=_locate,
    path=_path,
)
