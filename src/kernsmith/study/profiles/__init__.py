# SPDX-License-Identifier: GPL-2.0-or-later
"""Kinds of profiles that a kernel can be built with. Each module here is one; a new kind is a new
module, with another of the same name in `kernsmith.profile` that makes it from branch counts.

A module has a constant `KIND`.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from kernsmith.study.profiles.kind import ProfileKind

__all__ = ["ProfileKind", "find_profile_kind", "profile_kinds"]


@cache
def profile_kinds() -> dict[str, ProfileKind]:
    """All kinds by their names, sorted."""
    kinds = {}
    for module in pkgutil.iter_modules(__path__):
        found = importlib.import_module(f"{__name__}.{module.name}")
        if isinstance(kind := getattr(found, "KIND", None), ProfileKind):
            kinds[kind.name] = kind
    return dict(sorted(kinds.items()))


def find_profile_kind(name: str) -> ProfileKind:
    """The kind with this name, which must be one of `profile_kinds`."""
    return profile_kinds()[name]
