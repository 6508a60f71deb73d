# SPDX-License-Identifier: GPL-2.0-or-later
"""`source`: the kernel tree itself. Two revisions of one repository are two levels."""

from __future__ import annotations

from dataclasses import replace

from kernsmith.errors import UserError
from kernsmith.study.factors.protocol import Factor, LevelError
from kernsmith.study.source_word import parse_source


def _check(level: str) -> None:
    try:
        parse_source(level)
    except UserError as error:
        raise LevelError(str(error)) from None


FACTOR = Factor(
    name="source",
    description="a kernel tree: a folder, a tarball, git:FOLDER@REVISION, debian:VERSION",
    apply=lambda variant, level: replace(variant, source=level),
    allow=_check,
    locate=lambda level, folder: str(parse_source(level).beside(folder)),
    path=lambda level: parse_source(level).path,
)
