# SPDX-License-Identifier: GPL-2.0-or-later
"""What training runs leave behind: branch counts of any kernel, all of them or sampled, or the
counters of one that has them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

from kernsmith._native import counted, counters_span, seen_values, value_functions
from kernsmith.engine.traces import trace_tag
from kernsmith.errors import UserError
from kernsmith.guest.workloads import Workload
from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.module_code import code_spans
from kernsmith.machine import Job, Machine, Outcome
from kernsmith.profile import BranchCounts, merge_counts, read_counts, write_counts
from kernsmith.profile.counters import (
    Counters,
    counter_words,
    merge_counters,
    read_counters,
    value_rows,
    write_counters,
)
from kernsmith.profile.counts import read_body
from kernsmith.profile.perfdata import TakenTrace, read_perf_data, write_perf_data
from kernsmith.study import Step
from kernsmith.study.steps import find_step_kind

Left = TypeVar("Left")


@dataclass(frozen=True)
class Evidence(Generic[Left]):
    """One kind of it.

    suffix: what the names of its files end with.
    asked: the job, so that a kernel leaves it behind. May raise UserError.
    found: where the machine has put it: files, none where it has not.
    parsed: from what a kernel and a workload left there. May raise UserError.
    read, write: a file of kernsmith's own.
    merge: of several workloads, each with the same weight.
    placed: with where that was: on which machine, and where the kernel's modules were in that boot.
    way: stands before the suffix where a kernel's runs can be taken in several.
    """

    suffix: str
    asked: Callable[[Job, Kernel], Job]
    found: Callable[[Outcome], tuple[Path, ...]]
    parsed: Callable[[tuple[Path, ...], Kernel, Workload], Left]
    read: Callable[[Path], Left]
    write: Callable[[Left, Path], None]
    merge: Callable[[Sequence[Left]], Left]
    placed: Callable[[Left, Kernel, Outcome, Machine], Left] = lambda left, *where: left
    way: str = ""


def evidence_for(step: Step) -> Evidence[Any]:
    """What the profile of a step is made from."""
    if find_step_kind(step.kind).instrument is not None:
        return COUNTERS
    return samples(step.period) if step.period else BRANCHES


def samples(period: int) -> Evidence[BranchCounts]:
    """Branch counts out of samples, every `period` taken branches of the kernel.

    They go by the way of real ones, through a file of `perf record -b`. Stretches over jumps that
    the kernel patches while it runs are counted: they are no errors here.
    """

    def parsed(files: tuple[Path, ...], kernel: Kernel, workload: Workload) -> BranchCounts:
        (path,) = files
        taken = TakenTrace(workload.name, path, trace_tag(kernel, workload))
        recorded = path.with_suffix(".perf.data")
        try:
            write_perf_data(recorded, kernel, [taken], period=period, command=("kernsmith",))
            found = read_perf_data(recorded, kernel.vmlinux, static_keys=True)
        except UserError as error:
            said = str(error).replace(f"{recorded} ", "").replace(f"{recorded}: ", "")
            raise UserError(f"with a sample every {period} branches: {said}") from None
        finally:
            recorded.unlink(missing_ok=True)
        return _of(found.counts, kernel, workload)

    return replace(
        BRANCHES,
        way=f".every-{period}",
        asked=lambda job, kernel: replace(job, trace=trace_tag(kernel, job.workload)),
        found=lambda outcome: _files(outcome.trace),
        parsed=parsed,
    )


def _files(*paths: Path | None) -> tuple[Path, ...]:
    return tuple(path for path in paths if path is not None)


def _parsed_counts(files: tuple[Path, ...], kernel: Kernel, workload: Workload) -> BranchCounts:
    (path,) = files
    raw = read_body(path.read_text().splitlines(), origin=path)
    return _of(raw, kernel, workload)


def _of(counts: BranchCounts, kernel: Kernel, workload: Workload) -> BranchCounts:
    return replace(
        counts,
        build_id=kernel.build_id,
        workloads=(workload.name,),
        source=kernel.source_words,
    )


def _placed(
    counts: BranchCounts, kernel: Kernel, outcome: Outcome, machine: Machine
) -> BranchCounts:
    modules = code_spans(kernel, outcome.modules)
    return replace(counts, modules=modules, machines=(machine.name,))


def _with_memory(job: Job, kernel: Kernel) -> Job:
    try:
        return replace(
            job,
            memory=counters_span(kernel.vmlinux),
            called=tuple(value_functions(kernel.vmlinux)),
        )
    except ValueError as error:
        raise UserError(f"{kernel.vmlinux} cannot be trained on: {error}") from None


def _parsed_memory(files: tuple[Path, ...], kernel: Kernel, workload: Workload) -> Counters:
    memory, *called = files
    try:
        words = counter_words(counted(kernel.vmlinux, memory.read_bytes()))
        seen = [row for path in called for row in seen_values(path.read_text())]
    except ValueError as error:
        raise UserError(f"{kernel.vmlinux} cannot be trained on: {error}") from None
    start, _ = counters_span(kernel.vmlinux)
    return Counters(start, words, kernel.build_id, (workload.name,), value_rows(seen))


BRANCHES = Evidence(
    suffix=".counts",
    asked=lambda job, kernel: replace(job, profile=True),
    found=lambda outcome: _files(outcome.counts),
    parsed=_parsed_counts,
    read=read_counts,
    write=write_counts,
    merge=merge_counts,
    placed=_placed,
)
COUNTERS = Evidence(
    suffix=".counters",
    asked=_with_memory,
    found=lambda outcome: _files(outcome.memory, outcome.values),
    parsed=_parsed_memory,
    read=read_counters,
    write=write_counters,
    merge=merge_counters,
)
