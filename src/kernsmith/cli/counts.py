# SPDX-License-Identifier: GPL-2.0-or-later
"""`kernsmith profile show`, `merge` and `diff`: files of counts."""

from __future__ import annotations

import json as json_text
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import accumulate
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from kernsmith.cli.output import OutputFile, check_outputs
from kernsmith.errors import UserError

if TYPE_CHECKING:
    from kernsmith.profile import BranchCounts
    from kernsmith.profile.coverage import HotLine
    from kernsmith.profile.functions import FunctionShare

_MOST_WEIGHT = 1_000_000
Switch = Annotated[bool, Parameter(negative=())]


def show(
    counts: Path,
    /,
    *,
    kernel: str,
    limit: int = 20,
    json: Switch = False,
) -> int:
    """Show the functions and lines of a kernel that a file of counts is about, the hottest first,
    and what share of the run they cover.

    A function's share is of all bytes of code that were executed; "entered" is how often a branch
    led to its beginning; static functions of one name have their addresses behind it. Functions of
    modules have their module's name behind their own: `FUNCTION [MODULE]`. A line's share is of all
    instructions that were executed, wherever its function was inlined; lines are known of a vmlinux
    with line tables.

    Examples:

        kernsmith profile show pipe.counts --kernel 1395ba40

        kernsmith profile show web.counts --kernel vmlinux --limit 100

    Parameters
    ----------
    counts
        A file of counts (kernsmith profile record --counts, or convert --to counts).
    kernel
        The vmlinux that they are of, or a kernel that kernsmith built.
    limit
        So many functions, and so many lines; 0 shows all.
    json
        Print JSON.
    """
    from kernsmith.kernel.artifact import named_vmlinux
    from kernsmith.kernel.module_code import module_symbols
    from kernsmith.kernel.toolchain import find_toolchain
    from kernsmith.profile import read_counts
    from kernsmith.profile.functions import check_image, function_shares, function_symbols

    if limit < 0:
        raise UserError(f"--limit must be at least 0, it is {limit}")
    vmlinux, toolchain, read = named_vmlinux(kernel), find_toolchain(), read_counts(counts)
    check_image(read, counts, vmlinux, toolchain)
    own = function_symbols(vmlinux, toolchain)
    functions = function_shares(read, [*own, *module_symbols(vmlinux.parent, read.modules)])
    if not functions:
        raise UserError(f"{counts} has no counts: nothing of the kernel was executed")
    lines, reason = _lines(read, vmlinux)
    most = limit or None
    if json:
        document = {
            "version": 1,
            "build_id": read.build_id,
            "source": read.source,
            "workloads": read.workloads,
            "machines": read.machines,
            "sampled": read.sampled,
            "functions_that_ran": len(functions),
            "functions": [
                asdict(function) | {"address": f"{function.address:#x}"}
                for function in functions[:most]
            ],
            "lines_that_ran": len(lines),
            "lines": [line._asdict() for line in lines[:most]],
        }
        sys.stdout.write(json_text.dumps(document, indent=1) + "\n")
        return 0
    for line in (*_origin(read), "", *_function_rows(functions, functions[:most]), ""):
        print(line)
    for line in [f"lines: {reason}"] if reason else _line_rows(lines, lines[:most]):
        print(line)
    return 0


def _lines(counts: BranchCounts, vmlinux: Path) -> tuple[list[HotLine], str]:
    """The lines that ran, the hottest first, or why they are not known."""
    from kernsmith.profile.coverage import cover, hottest_lines

    try:
        return hottest_lines(cover(counts, vmlinux)), ""
    except UserError as error:
        return [], str(error)


def _origin(counts: BranchCounts) -> Iterator[str]:
    """What counts are of, as far as they say."""
    yield f"build id:  {counts.build_id or 'unknown'}"
    if counts.source:
        yield f"source:    {counts.source}"
    if counts.workloads:
        yield f"workloads: {' '.join(counts.workloads)}"
    for machine in counts.machines:
        yield f"machine:   {machine}"
    yield f"counts:    {'of samples' if counts.sampled else 'exact'}"


def _function_rows(all_: Sequence[FunctionShare], shown: Sequence[FunctionShare]) -> Iterator[str]:
    yield f"{'share':>7} {'sum':>7} {'entered':>14}  function"
    covered, names = 0.0, Counter(function.name for function in all_)
    for function, covered in zip(shown, accumulate(one.share for one in shown), strict=True):
        name = function.name
        told = f"{name} at {function.address:#x}" if names[name] > 1 else name
        yield f"{function.share:7.2%} {covered:7.2%} {function.entered:14,}  {told}"
    yield f"{len(shown)} of {len(all_)} functions that ran: {covered:.1%} of the run"


def _line_rows(all_: Sequence[HotLine], shown: Sequence[HotLine]) -> Iterator[str]:
    yield f"{'share':>7} {'sum':>7} {'executed':>14}  line"
    covered = 0.0
    for line, covered in zip(shown, accumulate(one.share for one in shown), strict=True):
        place = f"{line.file}:{line.line} in {line.function}"
        yield f"{line.share:7.2%} {covered:7.2%} {line.times:14,}  {place}"
    yield f"{len(shown)} of {len(all_)} lines that ran: {covered:.1%} of the run"


def merge(
    counts: Annotated[tuple[Path, ...], Parameter(negative=())],
    /,
    *,
    output: OutputFile,
    weight: Annotated[tuple[float, ...], Parameter(negative=())] = (),
    json: Switch = False,
) -> int:
    """Make one file of counts out of several of the same kernel.

    Each counts as much as the others, however long it ran, unless weights say otherwise.

    Examples:

        kernsmith profile merge web.counts database.counts -o server.counts

        kernsmith profile merge web.counts batch.counts --weight 3 --weight 1 -o server.counts

    Parameters
    ----------
    counts
        Files of counts.
    output
        The file for the result.
    weight
        Of each file, in their order: above 0, and none of them more than a million times another.
    json
        Print the result as JSON.
    """
    from kernsmith.profile import merge_files, write_counts

    if not counts:
        raise UserError("nothing to merge: name the files of counts")
    if weight and (len(weight) != len(counts) or not all(0 < each < inf for each in weight)):
        raise UserError(
            f"--weight must be given for each of the {len(counts)} files, a number above 0"
        )
    if weight and max(weight) / min(weight) > _MOST_WEIGHT:
        raise UserError(f"--weight must not be more than {_MOST_WEIGHT:,} times another one")
    check_outputs([output], counts)
    merged = merge_files(counts, weight)
    write_counts(merged, output)
    document = {"version": 1, "counts": str(output.absolute()), "workloads": merged.workloads}
    if json:
        sys.stdout.write(json_text.dumps(document, indent=1) + "\n")
    else:
        print(f"counts: {output.absolute()}")
    return 0


def diff(
    first: Path,
    second: Path,
    /,
    *,
    json: Switch = False,
) -> int:
    """Show how much two files of counts of one kernel have in common.

    The overlap is the sum of the smaller of both shares, as llvm-profdata overlap has it: 100 % is
    the same profile, 0 % has nothing in common.

    Example:

        kernsmith profile diff exact.counts sampled.counts

    Parameters
    ----------
    first, second
        Files of counts.
    json
        Print JSON.
    """
    from kernsmith.profile import read_counts
    from kernsmith.profile.overlap import overlap

    common = overlap(read_counts(first), read_counts(second))
    if json:
        sys.stdout.write(json_text.dumps({"version": 1} | asdict(common), indent=1) + "\n")
        return 0
    print(f"executed code: {common.code:.1%} in common")
    print(f"branches:      {common.branches:.1%} in common")
    return 0
