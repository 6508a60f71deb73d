# SPDX-License-Identifier: GPL-2.0-or-later
"""`config`: the whole configuration: a shipped one, a file's, or a distribution's."""

from __future__ import annotations

from dataclasses import replace

from kernsmith.errors import UserError
from kernsmith.study.config_word import parse_config_word
from kernsmith.study.factors.protocol import Factor, LevelError, not_empty

_not_empty = not_empty("config")


def _check(level: str) -> None:
    _not_empty(level)
    try:
        parse_config_word(level)
    except UserError as error:
        raise LevelError(str(error)) from None


FACTOR = Factor(
    name="config",
    description="a shipped config, a fragment over tinyconfig, a complete .config, "
    "debian:FLAVOUR, or running; behind the last two +lsmod:FILE: only these modules",
    apply=lambda variant, level: replace(variant, config=level),
    allow=_check,
    locate=lambda level, folder: str(parse_config_word(level).beside(folder)),
    path=lambda level: parse_config_word(level).path,
)
