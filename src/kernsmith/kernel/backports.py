# SPDX-License-Identifier: GPL-2.0-or-later
"""Steps in trees that are older than the config symbols for them.

What a symbol's Makefile gives each object of the kernel and of its modules in newer trees,
kernsmith gives in its place: by kbuild's own `CFLAGS_KERNEL` and `CFLAGS_MODULE`
(Documentation/kbuild/kbuild.rst). The first is also for what is not linked into the kernel: vDSO,
decompressor, real-mode code, purgatory. kbuild evaluates it for each object, so it asks what
`is-kernel-object` of newer trees asks (scripts/Makefile.lib).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kernsmith.kernel.config import DEBUG_INFO_SYMBOLS, absent_symbols
from kernsmith.study.steps import StepKind, step_kinds
from kernsmith.study.steps.kind import Backport

_FLAGS = "KERNSMITH_OBJECT_FLAGS"
_BUILT_IN = "$(filter $(basename $@).o,$(real-obj-y) $(lib-y))"


def backports() -> dict[str, Backport]:
    """What stands in for config symbols, by their names."""
    found = (kind.backport for kind in step_kinds().values())
    return {backport.symbol: backport for backport in found if backport}


def backported_symbols(requested: Mapping[str, str], tree: Path) -> tuple[str, ...]:
    """The config symbols that are asked for, that a tree does not have, and that something stands
    in for; sorted."""
    asked = [symbol for symbol in backports() if requested.get(symbol) == "y"]
    return tuple(absent_symbols(asked, tree)) if asked else ()


def not_carried(kind: StepKind, tree: Path, name: str) -> str | None:
    """Why a tree cannot have a step, in a sentence with the tree's name; None when it can."""
    asked = [*kind.symbols, *(symbol for symbol, value in kind.options if value != "n")]
    absent = [symbol for symbol in absent_symbols(asked, tree) if symbol not in backports()]
    if not absent:
        return None
    names = " and ".join(f"CONFIG_{symbol}" for symbol in absent)
    return f"the step {kind.name} needs {names}, which {name} does not have"


def object_flags(
    symbol: str, requested: Mapping[str, str], files: tuple[str, ...]
) -> tuple[str, ...]:
    """What each object of the kernel is compiled with in the place of a config symbol.

    requested: the kernel's config symbols. files: of the profile; empty without one.
    """
    has_debug_info = any(requested.get(other) == "y" for other in DEBUG_INFO_SYMBOLS)
    return backports()[symbol].flags(files, has_debug_info)


def make_variables(flags: tuple[str, ...]) -> dict[str, str]:
    """What kbuild is told for each object of the kernel and of modules to get flags."""
    return {
        _FLAGS: " ".join(flags),
        "CFLAGS_KERNEL": f"$(if {_BUILT_IN},$({_FLAGS}))",
        "CFLAGS_MODULE": f"$({_FLAGS})",
    }
