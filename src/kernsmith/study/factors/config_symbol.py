# SPDX-License-Identifier: GPL-2.0-or-later
"""`CONFIG_…`: any symbol of the kernel's configuration is a factor."""

from __future__ import annotations

import re

from kernsmith.study.factors.protocol import Factor, LevelError

# make reads the configuration as a Makefile, and kbuild hands strings of it to shells: what either
# expands is in no value.
_VALUE = re.compile(
    r"[ynm]|-?\d{1,20}|0x[0-9a-fA-F]{1,16}|\"[\w .,:=@%+*/()?!~^\[\]{}-]*\"", re.ASCII
)
VALUES = (
    'allowed are y, n, m, a number, or a quoted string such as "\\"none\\"", without '
    "characters that make or a shell expands"
)


def is_value(text: str) -> bool:
    """Whether this may be the value of a config symbol (see `VALUES`)."""
    return _VALUE.fullmatch(text) is not None


def factor_of(name: str) -> Factor:
    """The factor that sets the config symbol `name` (`CONFIG_HZ`) to its level."""
    if not re.fullmatch(r"CONFIG_[A-Za-z0-9_]{1,200}", name):
        raise LevelError(f"{name!r} is not the name of a config symbol")
    symbol = name.removeprefix("CONFIG_")

    def check(level: str) -> None:
        if not is_value(level):
            raise LevelError(f"factor {name!r} has no level {level!r}: {VALUES}")

    return Factor(
        name=name,
        description=f"the config symbol {name}",
        apply=lambda variant, level: variant.with_option(symbol, level),
        allow=check,
    )
