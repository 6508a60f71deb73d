# SPDX-License-Identifier: GPL-2.0-or-later
"""Counts by source: files, their lines and functions, and what of them never ran.

A line was executed as often as that instruction of it that was executed most, within each copy of
its function: out of line, and inlined at each place. Copies are added up.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from kernsmith.errors import UserError
from kernsmith.profile.counts import BranchCounts
from kernsmith.profile.coverage.images import cover_images


class LineCount(NamedTuple):
    """A line of which there is code.

    times: how often it was executed. executed: instructions of it, each as often as it was.
    function: its number; of several the one that ran most.
    """

    line: int
    times: int
    executed: int
    function: int


class FunctionCount(NamedTuple):
    """A function of the source, or a symbol of code without line tables.

    file: its number; None for a symbol. entered: how often its first instructions were executed.
    executed: instructions of its own, without those of functions inlined into it.
    """

    name: str
    file: int | None
    line: int
    entered: int
    executed: int


class Instance(NamedTuple):
    """Code of a function: out of line (no parent), or inlined at a line of another instance."""

    function: int
    parent: int | None
    call_line: int


class Sample(NamedTuple):
    """Executed instructions of a line of an instance. line: 0 where it is not known."""

    instance: int
    line: int
    executed: int


class Stretch(NamedTuple):
    """Lines of a function that ran, from first to last, of which none did. lines: with code."""

    first: int
    last: int
    lines: int
    function: int


@dataclass(frozen=True)
class SourceFile:
    """A file of which something ran. path: as the line tables name it. lines: with code."""

    path: str
    lines: tuple[LineCount, ...]

    @cached_property
    def executed(self) -> int:
        """Instructions of its lines, each as often as it was executed."""
        return sum(line.executed for line in self.lines)

    @cached_property
    def ran(self) -> int:
        """How many of its lines were executed."""
        return sum(line.times > 0 for line in self.lines)


@dataclass(frozen=True)
class Coverage:
    """What counts say of the source. executed: all instructions; what shares are of."""

    files: tuple[SourceFile, ...]
    functions: tuple[FunctionCount, ...]
    instances: tuple[Instance, ...]
    samples: tuple[Sample, ...]
    executed: int
    build_id: str = ""
    workloads: tuple[str, ...] = ()
    sampled: bool = False

    @cached_property
    def functions_of(self) -> dict[int | None, list[int]]:
        """Numbers of the functions of each file, and of symbols (None), the hottest first."""
        found: dict[int | None, list[int]] = defaultdict(list)
        for number, function in enumerate(self.functions):
            found[function.file].append(number)
        for numbers in found.values():
            numbers.sort(key=lambda number: (-self.functions[number].executed, number))
        return found

    def share(self, executed: int) -> float:
        """Of all executed instructions, from 0 to 1."""
        return executed / self.executed

    def silent(self, file: SourceFile) -> Iterator[Stretch]:
        """The stretches of a file that never ran, of functions that did; by line."""

        def kind(line: LineCount) -> tuple[int, bool]:
            return line.function, line.times > 0

        for (function, ran), group in groupby(file.lines, kind):
            if not ran and self.functions[function].executed:
                lines = [line.line for line in group]
                yield Stretch(lines[0], lines[-1], len(lines), function)


def cover(counts: BranchCounts, vmlinux: Path) -> Coverage:
    """Tell counts of a kernel by the lines that its code was made from, with those of the modules
    that lie beside it.

    Raises:
        UserError: no vmlinux, one without line tables or symbols, or one of another kernel; or
            nothing of it was executed.
    """
    found = cover_images(counts, vmlinux)
    if found["build_id"] != counts.build_id:
        raise UserError(
            f"the profile is of another kernel: its build id is {counts.build_id or 'absent'}, "
            f"that of {vmlinux} is {found['build_id'] or 'absent'}"
        )
    if not found["executed"]:
        raise UserError(f"the profile says of no instruction of {vmlinux} that it was executed")
    lines: list[list[LineCount]] = [[] for _ in found["files"]]
    for file, *line in found["lines"]:
        lines[file].append(LineCount._make(line))
    return Coverage(
        files=tuple(map(SourceFile, found["files"], map(tuple, lines))),
        functions=tuple(map(FunctionCount._make, found["functions"])),
        instances=tuple(map(Instance._make, found["instances"])),
        samples=tuple(map(Sample._make, found["samples"])),
        executed=found["executed"],
        build_id=counts.build_id,
        workloads=counts.workloads,
        sampled=counts.sampled,
    )
