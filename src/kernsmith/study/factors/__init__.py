# SPDX-License-Identifier: GPL-2.0-or-later
"""What a study can vary. Each module here is one factor; a new factor is a new module.

A module has a constant `FACTOR`. Two families are open-ended: a factor that is named `CONFIG_…`
sets that symbol (see `config_symbol`), and `flags_…` adds flags (see `flags`).
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from kernsmith.study.factors import config_symbol, flags
from kernsmith.study.factors.protocol import Factor, LevelError

__all__ = ["Factor", "LevelError", "factor_names", "find_factor"]


@cache
def _registry() -> dict[str, Factor]:
    factors = {}
    for module in pkgutil.iter_modules(__path__):
        found = importlib.import_module(f"{__name__}.{module.name}")
        if isinstance(factor := getattr(found, "FACTOR", None), Factor):
            factors[factor.name] = factor
    return factors


def factor_names() -> list[str]:
    """The factors that a study file may name, sorted."""
    return sorted(_registry())


def find_factor(name: str) -> Factor:
    """The factor with this name.

    Raises:
        LevelError: no such factor; the message lists those that exist.
    """
    if name.startswith("CONFIG_"):
        return config_symbol.factor_of(name)
    if name.startswith(flags.PREFIX):
        return flags.factor_of(name)
    try:
        return _registry()[name]
    except KeyError:
        known = ", ".join(factor_names())
        raise LevelError(
            f"unknown factor {name!r}: allowed are {known}, CONFIG_… symbols, and flags"
        ) from None
