# SPDX-License-Identifier: GPL-2.0-or-later
"""The ways in which the silicon bench compiles its programs: what a study of kernels varies."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from kernsmith.errors import UserError
from kernsmith.study.flags import check_flags

Profile = Literal["", "autofdo", "autofdo+propeller", "instrumented"]

BASELINE = "O2"
"""What all others are compared with."""


@dataclass(frozen=True)
class Build:
    """One way to compile a program.

    family: `clang` or `gcc`, the newest and the default one. profile: what it is guided by.
    own: it is the user's.
    """

    name: str
    family: str
    flags: tuple[str, ...]
    profile: Profile = ""
    own: bool = False


_BUILDS = (
    Build(BASELINE, "clang", ("-O2",)),
    Build("O1", "clang", ("-O1",)),
    Build("O3", "clang", ("-O3",)),
    Build("Os", "clang", ("-Os",)),
    Build("align32", "clang", ("-O2", "-falign-functions=32")),
    Build("align64", "clang", ("-O2", "-falign-functions=64")),
    Build("autofdo", "clang", ("-O2",), "autofdo"),
    Build("propeller", "clang", ("-O2",), "autofdo+propeller"),
    Build("instrumented", "clang", ("-O2",), "instrumented"),
    Build("split", "clang", ("-O2", "-fsplit-machine-functions"), "instrumented"),
    Build("gcc-O2", "gcc", ("-O2",)),
    Build("gcc-O3", "gcc", ("-O3",)),
    Build("gcc-Os", "gcc", ("-Os",)),
)


_OWN = re.compile(r"([A-Za-z0-9][\w.-]{0,39})=(?:(clang|gcc) )?(.*)", re.ASCII)


def find_builds(names: Sequence[str] = ()) -> tuple[Build, ...]:
    """Builds by name, the baseline first; all without names.

    names: also builds of the user's, as `NAME=[clang|gcc] FLAGS`: `unroll=-O2 -funroll-loops`.

    Raises:
        UserError: there is none of that name, a name is taken, or a flag is none that a study may
            have.
    """
    known = {build.name: build for build in _BUILDS}
    own: dict[str, Build] = {}
    for name in names:
        if found := _OWN.fullmatch(name):
            build = _own(*found.groups())
            if build.name in known or build.name in own:
                raise UserError(f"the build {build.name!r} is there already: give yours a new name")
            own[build.name] = build
        elif name not in known:
            raise UserError(
                f"there is no build {name!r}: allowed are {', '.join(known)}, and NAME=FLAGS"
            )
    shipped = (b for b in _BUILDS if not names or b.name in {BASELINE, *names})
    return (*shipped, *own.values())


def _own(name: str, family: str | None, words: str) -> Build:
    flags = tuple(words.split())
    check_flags(flags)
    return Build(name, family or "clang", flags, own=True)
