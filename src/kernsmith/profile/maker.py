# SPDX-License-Identifier: GPL-2.0-or-later
"""What makes a kind of profile from branch counts: one module here for each of `study.profiles`."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.toolchain import Toolchain
from kernsmith.profile.counts import BranchCounts


class Make(Protocol):
    """From counts of a kernel to a profile; `target` is where it is made. May raise UserError."""

    def __call__(
        self, counts: BranchCounts, kernel: Kernel, toolchain: Toolchain, target: Path
    ) -> Path: ...


class Use(Protocol):
    """A profile that the user brings, made ready for the compiler. May raise UserError."""

    def __call__(self, path: Path, kernel: Kernel, toolchain: Toolchain, target: Path) -> Path: ...


@dataclass(frozen=True)
class ProfileMaker:
    """How profiles of a kind come to be: from counts, or from a file of the user's."""

    make: Make
    usable: Use


def find_profile_maker(kind: str) -> ProfileMaker:
    """The maker of a kind of profile: `MAKER` of the module of this package with that name."""
    maker = importlib.import_module(f"kernsmith.profile.{kind}").MAKER
    assert isinstance(maker, ProfileMaker)
    return maker
