# SPDX-License-Identifier: GPL-2.0-or-later
"""What a folder of the fast guest's workloads says beside its C code: `suite.toml`. Those of the
first program, in `guest/workloads` itself, have one, too.

The guest's program itself says what runs and how often, for it is what runs. This file says what a
program cannot know of itself, by the same keys as the file of a user's own workload: how many
operations a round is, and what else is in its guest.
"""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from kernsmith.errors import UserError
from kernsmith.guest.elf import program_kind
from kernsmith.guest.initramfs import Member, read_program
from kernsmith.guest.workloads import MOST_VCPUS, Baseline, Workload
from kernsmith.paths import shipped

Operations = Annotated[int, Field(ge=1, le=1_000_000_000)]
"""How much a round is: so many times a unit."""

Unit = Annotated[str, Field(min_length=1, max_length=40)]
"""A word in the singular."""


Vcpus = Annotated[int, Field(ge=1, le=MOST_VCPUS)]
"""How many processors the guest has."""


class _Baseline(BaseModel):
    model_config = ConfigDict(extra="forbid")

    count: float = Field(gt=0)
    seconds: float = Field(1.0, gt=0)


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid")

    operations: Operations = 1
    unit: Unit = "round"
    baseline: _Baseline | None = None
    vcpus: Vcpus = 1


class Suite(BaseModel):
    """The file.

    programs: of this host, static ones, that lie in the guest's /bin.
    workloads: by name, the amount of a round and, for an index, what the baseline's machine does:
        `count` operations in `seconds`; and how many processors the guest has.
    """

    model_config = ConfigDict(extra="forbid")

    programs: list[str] = Field(default_factory=list)
    workloads: dict[str, _Entry] = Field(default_factory=dict)

    def members(self) -> list[Member]:
        """The programs, as far as this host has them; a workload says itself what it misses."""
        found = ((name, shutil.which(name)) for name in self.programs)
        contents = ((name, read_program(Path(path))) for name, path in found if path)
        programs = [
            Member(f"bin/{name}", content, executable=True)
            for name, content in contents
            if program_kind(content) == "static"
        ]
        return [Member("bin"), *programs] if programs else []

    def described(self, workloads: Sequence[Workload]) -> tuple[Workload, ...]:
        """The workloads of the program with what is said of them here."""
        return tuple(self._described(workload) for workload in workloads)

    def _described(self, workload: Workload) -> Workload:
        said = self.workloads.get(workload.name) or _Entry()
        baseline = said.baseline and Baseline(said.baseline.count, said.baseline.seconds)
        return replace(
            workload,
            operations=said.operations,
            unit=said.unit,
            baseline=baseline or None,
            vcpus=said.vcpus,
        )


def read_suite(name: str) -> Suite:
    """What is said of a folder of workloads, by its name; empty: of those in none.

    Raises:
        UserError: a key or value is not allowed.
    """
    path = shipped("guest", "workloads", name, "suite.toml")
    if not path.exists():
        return Suite()
    try:
        return Suite.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (ValidationError, tomllib.TOMLDecodeError) as error:
        raise UserError(f"{path}: {error}") from None
