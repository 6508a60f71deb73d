# SPDX-License-Identifier: GPL-2.0-or-later
"""What a kind of profile is: the words in which a build is told about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class ProfileKind:
    """One consumer of profiles.

    name: the level of the factor `profile`. title: as its makers write it.
    symbols: config symbols that variants have with the profile, and those to train on, too.
    oldest_clang: major version of the oldest clang that reads it well.
    suffix: of the profile's file, without a dot.
    make_variables: from the profile's path to what kbuild is told, as (name, value).
    flags: what the compiler is told beside the profile; the argument says whether the profile was
        made from exact counts, not from samples.
    """

    name: str
    title: str
    description: str
    symbols: tuple[str, ...]
    oldest_clang: int
    suffix: str
    make_variables: Callable[[str], tuple[tuple[str, str], ...]]
    flags: Callable[[bool], tuple[str, ...]]
