# SPDX-License-Identifier: GPL-2.0-or-later
"""What a kind of step is: the words in which a build is told about its profile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class StepKind:
    """One stage of profile-guided building.

    name: the word for it in a level of the factor `profile`. title: as its makers write it.
    symbols: config symbols that variants have with the step, and those to train on, too.
    oldest_clang: major version of the oldest clang that reads its profile well.
    suffixes: of the files that its profile consists of, in order: with what their names end, behind
        a part that they have in common.
    make_variables: from the paths of these files to what kbuild is told, as (name, value).
    flags: what the compiler is told beside the profile; the argument says whether the profile was
        made from exact counts, not from samples.
    symbol_order: which of the files is an order of functions for the linker, if one is.
    """

    name: str
    title: str
    description: str
    symbols: tuple[str, ...]
    oldest_clang: int
    suffixes: tuple[str, ...]
    make_variables: Callable[[tuple[str, ...]], tuple[tuple[str, str], ...]]
    flags: Callable[[bool], tuple[str, ...]]
    symbol_order: int | None = None
