# SPDX-License-Identifier: GPL-2.0-or-later
"""The ways in which the silicon bench compiles its programs: what a study of kernels varies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from kernsmith.errors import UserError

Profile = Literal["", "autofdo", "autofdo+propeller", "instrumented"]

BASELINE = "O2"
"""What all others are compared with."""


@dataclass(frozen=True)
class Build:
    """One way to compile a program.

    family: `clang` or `gcc`, the newest and the default one. profile: what it is guided by.
    """

    name: str
    family: str
    flags: tuple[str, ...]
    profile: Profile = ""


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


def find_builds(names: Sequence[str] = ()) -> tuple[Build, ...]:
    """Builds by name, the baseline first; all without names.

    Raises:
        UserError: there is none of that name.
    """
    known = {build.name: build for build in _BUILDS}
    for name in names:
        if name not in known:
            raise UserError(f"there is no build {name!r}: allowed are {', '.join(known)}")
    return tuple(b for b in _BUILDS if not names or b.name in {BASELINE, *names})
