# SPDX-License-Identifier: GPL-2.0-or-later
"""A kernel's text with traces of workloads: what replays and searches read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernsmith._native import LayoutLab
from kernsmith.errors import UserError
from kernsmith.layout.linkmap import Arrangement, Text

Figures = Sequence[Mapping[str, float]]
"""Kernel-mode figures of one layout (a program's user-mode ones), by metric: one mapping for each
workload."""

MOST_BLOCKS = 1 << 27
"""Of a trace with more blocks, a part of about so many stands for all of it where figures are not
held against a boot. A workload of the catalogue executes some seven million, a build of a kernel's
boot code two thousand million."""


@dataclass(frozen=True)
class TraceFile:
    """A trace of a workload. tag: what it must say that it is of."""

    workload: str
    path: Path
    tag: str


class TracedText:
    """A text in its default layout and what was executed of it.

    lab: the native value that holds both; nothing is added to it any more.
    workloads: in the order of the traces. blocks: how many all traces have; longest: how many the
        longest one has.
    counters: what the tracer counted while it wrote the traces, by workload.
    """

    def __init__(
        self,
        text: Text,
        files: Sequence[TraceFile],
        on_read: Callable[[int], None] = lambda done: None,
        *,
        program: bool = False,
    ) -> None:
        """Read the traces. on_read: called with how many were read, after each. program: the text
        is that of a program, and what counts is its user mode.

        Raises:
            UserError: no trace, a truncated one, or one of another kernel.
        """
        self.text = text
        self.lab = LayoutLab(
            text.start,
            [(s.start, s.size, s.align) for s in text.sections],
            [step if isinstance(step, int) else list(step) for step in text.steps],
        )
        self.workloads = tuple(file.workload for file in files)
        self.blocks = 0
        self.longest = 0
        self.counters: dict[str, Mapping[str, float]] = {}
        for done, file in enumerate(files, 1):
            try:
                facts = self.lab.add_trace(file.path, file.tag, program=program)
            except ValueError as error:
                raise UserError(str(error)) from None
            self.blocks += facts["words"]
            self.longest = max(self.longest, facts["words"])
            self.counters[file.workload] = facts["counters"]
            on_read(done)

    def figures(
        self,
        layouts: Sequence[Arrangement],
        cpu: Path,
        *,
        every: int,
        displaced: int | None,
        threads: int,
    ) -> list[Figures]:
        """What each layout costs: see `Evaluator.costs`. Nothing is scaled here.

        cpu: the CPU model's file. every: only one of so many windows of each trace is replayed.
        """
        return list(
            self.lab.cost(
                [(list(each.order), list(each.shifts)) for each in layouts],
                cpu,
                threads=threads,
                every=every,
                displaced=displaced,
            )
        )
