# SPDX-License-Identifier: GPL-2.0-or-later
"""What makes the files of a step from counts: one module here for each of `study.steps`."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.toolchain import Toolchain

Given = TypeVar("Given", contravariant=True)


class Make(Protocol[Given]):
    """From what training a kernel has left behind (`BranchCounts`, `Counters`) to the files of a
    profile, in the order of its kind's suffixes.

    stem: they are made beside this path, under names that begin with its own. May raise UserError.
    """

    def __call__(
        self, counts: Given, kernel: Kernel, toolchain: Toolchain, stem: Path
    ) -> tuple[Path, ...]: ...


class Use(Protocol):
    """Files that the user brings, made ready for the build. May raise UserError."""

    def __call__(
        self, files: tuple[Path, ...], kernel: Kernel, toolchain: Toolchain, stem: Path
    ) -> tuple[Path, ...]: ...


class Check(Protocol):
    """Whether files that the user brings are a profile, as far as no kernel is needed to say so.
    May raise UserError."""

    def __call__(self, files: tuple[Path, ...], toolchain: Toolchain) -> None: ...


class Tell(Protocol):
    """What is to be said of files that the user brings, for a kernel; empty: nothing."""

    def __call__(self, files: tuple[Path, ...], kernel: Kernel, toolchain: Toolchain) -> str: ...


@dataclass(frozen=True)
class ProfileMaker(Generic[Given]):
    """How the profile of a step comes to be: from counts, or from files of the user's."""

    make: Make[Given]
    usable: Use
    check: Check
    tell: Tell = lambda files, kernel, toolchain: ""


def find_profile_maker(kind: str) -> ProfileMaker[Any]:
    """The maker for a kind of step: `MAKER` of the module of this package with that name."""
    maker = importlib.import_module(f"kernsmith.profile.{kind}").MAKER
    assert isinstance(maker, ProfileMaker)
    return maker
