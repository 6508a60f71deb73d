# SPDX-License-Identifier: GPL-2.0-or-later
"""The stages of profile-guided building. Each module here is one kind; a new kind is a new module,
with another of the same name in `kernsmith.profile` that makes its files from branch counts.

A module has a constant `KIND`. A variant has a tuple of steps; each is trained on the kernel that
is built with those before it, so a kind needs to know nothing of the others. Some, like ThinLTO,
have no profile of their own and are not trained.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from kernsmith.study.steps.kind import HOT, IDLE, USUAL, Instrumentation, StepKind, Told

__all__ = [
    "HOT", "IDLE", "USUAL", "Instrumentation", "StepKind", "Told", "find_step_kind",
    "line_table_symbols", "spared_symbols", "step_kinds", "step_symbols",
]  # fmt: skip


@cache
def step_kinds() -> dict[str, StepKind]:
    """All kinds by their names, sorted."""
    kinds = {}
    for module in pkgutil.iter_modules(__path__):
        found = importlib.import_module(f"{__name__}.{module.name}")
        if isinstance(kind := getattr(found, "KIND", None), StepKind):
            kinds[kind.name] = kind
    return dict(sorted(kinds.items()))


def find_step_kind(name: str) -> StepKind:
    """The kind with this name, which must be one of `step_kinds`."""
    return step_kinds()[name]


def line_table_symbols() -> tuple[str, ...]:
    """The config symbols that all kernels of clang's have where profiles are compared: the line
    tables that training needs, with which clang's code is a little different (docs/autofdo.md)."""
    return step_kinds()["autofdo"].symbols


def step_symbols() -> frozenset[str]:
    """The config symbols of all kinds that kernels are trained on with: what tools read."""
    return frozenset(symbol for kind in step_kinds().values() for symbol in kind.symbols)


def spared_symbols() -> frozenset[str]:
    """Those of them that add nothing to objects of which nothing ran, once these are listed."""
    kinds = (kind for kind in step_kinds().values() if kind.spares_idle)
    return frozenset(symbol for kind in kinds for symbol in kind.symbols) - {*line_table_symbols()}
