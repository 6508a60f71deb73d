# SPDX-License-Identifier: GPL-2.0-or-later
"""What a loop is, and what many of them are made of."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

from kernsmith import paths
from kernsmith.errors import KernsmithError
from kernsmith.silicon.binaries import UNPLACED

UNITS = 4
EVENTS = 200_000
"""In a unit, at least."""
FEWEST = 60
"""Times round, so that the first one, in which nothing is known yet, is a small part."""
OFTEN = 10
"""In a unit: what comes again does so."""
NOPS = (
    b"\x90",
    b"\x66\x90",
    b"\x0f\x1f\x00",
    b"\x0f\x1f\x40\x00",
    b"\x0f\x1f\x44\x00\x00",
    b"\x66\x0f\x1f\x44\x00\x00",
    b"\x0f\x1f\x80\x00\x00\x00\x00",
    b"\x0f\x1f\x84\x00\x00\x00\x00\x00",
    b"\x66\x0f\x1f\x84\x00\x00\x00\x00\x00",
)
"""By size, from one byte on: the instructions that vendors name for filling space."""


@dataclass(frozen=True)
class Probe:
    """A loop: what is in it, so many times; what goes before it."""

    what: str
    count: int
    body: str
    first: str = ""
    data: str = ""
    period: int = 1
    """Of what it repeats, in times round."""

    @property
    def times(self) -> int:
        return max(FEWEST, OFTEN * self.period, EVENTS // self.count)


def nop(size: int) -> str:
    """An instruction of so many bytes that does nothing."""
    return ".byte " + ",".join(map(hex, NOPS[size - 1]))


def linked(folder: Path, *words: str) -> Path:
    """A program of the silicon bench. words: its sources in this folder, and options."""
    programs = paths.shipped("guest/programs")
    command = ["gcc", "-O2", "-D_GNU_SOURCE", "-Wa,--no-warn", *UNPLACED, f"-I{programs}"]
    command += ["-o", "probe", *words, str(programs / "program.c")]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "probe"


def failed(number: int, error: KernsmithError) -> None:
    """None of them may."""
    raise error
