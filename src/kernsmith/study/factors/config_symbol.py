# SPDX-License-Identifier: GPL-2.0-or-later
"""`CONFIG_…`: any symbol of the kernel's configuration is a factor."""

from __future__ import annotations

import re

from kernsmith.study.factors.protocol import Factor, LevelError


def factor_of(name: str) -> Factor:
    """The factor that sets the config symbol `name` (`CONFIG_HZ`) to its level."""
    if not re.fullmatch(r"CONFIG_[A-Za-z0-9_]+", name):
        raise LevelError(f"{name!r} is not the name of a config symbol")
    symbol = name.removeprefix("CONFIG_")

    def check(level: str) -> None:
        if not re.fullmatch(r'[ynm]|-?\d+|0x[0-9a-fA-F]+|".*"', level):
            raise LevelError(
                f"factor {name!r} has no level {level!r}: allowed are y, n, m, a number, or a "
                'quoted string such as "\\"none\\""'
            )

    return Factor(
        name=name,
        description=f"the config symbol {name}",
        apply=lambda variant, level: variant.with_option(symbol, level),
        allow=check,
    )
