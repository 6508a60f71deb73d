# SPDX-License-Identifier: GPL-2.0-or-later
"""What training runs leave behind: branch counts of any kernel, or the counters of one that has
them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

from kernsmith._native import counted, counters_span
from kernsmith.errors import UserError
from kernsmith.guest.workloads import Workload
from kernsmith.kernel.artifact import Kernel
from kernsmith.machine import Job, Outcome
from kernsmith.profile import BranchCounts, merge_counts, read_counts, write_counts
from kernsmith.profile.counters import (
    Counters,
    counter_words,
    merge_counters,
    read_counters,
    write_counters,
)
from kernsmith.profile.counts import read_body
from kernsmith.study.steps import StepKind

Left = TypeVar("Left")


@dataclass(frozen=True)
class Evidence(Generic[Left]):
    """One kind of it.

    suffix: what the names of its files end with.
    asked: the job, so that a kernel leaves it behind. May raise UserError.
    found: where the machine has put it, if it has.
    parsed: from what a kernel and a workload left there. May raise UserError.
    read, write: a file of kernsmith's own.
    merge: of several workloads, each with the same weight.
    """

    suffix: str
    asked: Callable[[Job, Kernel], Job]
    found: Callable[[Outcome], Path | None]
    parsed: Callable[[Path, Kernel, Workload], Left]
    read: Callable[[Path], Left]
    write: Callable[[Left, Path], None]
    merge: Callable[[Sequence[Left]], Left]


def evidence_for(kind: StepKind) -> Evidence[Any]:
    """What the profile of a kind of step is made from."""
    return BRANCHES if kind.instrument is None else COUNTERS


def _parsed_counts(path: Path, kernel: Kernel, workload: Workload) -> BranchCounts:
    raw = read_body(path.read_text().splitlines(), origin=path)
    return replace(raw, build_id=kernel.build_id, workloads=(workload.name,))


def _with_memory(job: Job, kernel: Kernel) -> Job:
    try:
        return replace(job, memory=counters_span(kernel.vmlinux))
    except ValueError as error:
        raise UserError(f"{kernel.vmlinux} cannot be trained on: {error}") from None


def _parsed_memory(path: Path, kernel: Kernel, workload: Workload) -> Counters:
    try:
        words = counter_words(counted(kernel.vmlinux, path.read_bytes()))
    except ValueError as error:
        raise UserError(f"{kernel.vmlinux} cannot be trained on: {error}") from None
    start, _ = counters_span(kernel.vmlinux)
    return Counters(start, words, kernel.build_id, (workload.name,))


BRANCHES = Evidence(
    suffix=".counts",
    asked=lambda job, kernel: replace(job, profile=True),
    found=lambda outcome: outcome.counts,
    parsed=_parsed_counts,
    read=read_counts,
    write=write_counts,
    merge=merge_counts,
)
COUNTERS = Evidence(
    suffix=".counters",
    asked=_with_memory,
    found=lambda outcome: outcome.memory,
    parsed=_parsed_memory,
    read=read_counters,
    write=write_counters,
    merge=merge_counters,
)
