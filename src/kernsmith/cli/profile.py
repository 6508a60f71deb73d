# SPDX-License-Identifier: GPL-2.0-or-later
"""`kernsmith profile`: profiles of a kernel from and for other programs."""

from __future__ import annotations

import json as json_text
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import App, Parameter

from kernsmith.cli.counts import diff, merge, show
from kernsmith.cli.coverage import coverage
from kernsmith.cli.output import NewFile, OutputFile, check_outputs
from kernsmith.cli.staleness import carry, match
from kernsmith.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernsmith.engine.events import Events
    from kernsmith.profile.perfdata import PerfData

Names = Annotated[tuple[str, ...], Parameter(negative=())]
Switch = Annotated[bool, Parameter(negative=())]

DEFAULT_PERIOD = 10007

profile = App(
    name="profile",
    help="""Profiles of a kernel: from perf.data of a real machine, and recorded in a simulated one.

    A profile is how often each branch of a kernel was taken and each stretch of its code executed:
    by counts (docs/profile.md), or by function and line, as compilers read it.""",
)
for _command in (show, coverage, merge, diff, match, carry):
    profile.command(_command)


@profile.command
def convert(
    perf_data: Path,
    /,
    *,
    kernel: str,
    output: OutputFile,
    to: Literal["afdo", "text", "counts"] = "afdo",
    samples: Literal["branches", "ip"] = "branches",
    workload: Names = (),
    static_keys: Switch = False,
    json: Switch = False,
) -> int:
    """Make a profile of what perf record wrote on a machine that ran the kernel.

    Reads branch stacks (Intel LBR, AMD BRS and LBRv2) without perf, and counts as llvm-profgen
    does, in the addresses that the kernel was linked at, wherever it ran. A file of another kernel
    is refused by its build id.

    Examples:

        perf record -b -e cycles:k -c 500009 -a -o perf.data -- sleep 60

        kernsmith profile convert perf.data --kernel vmlinux -o web.afdo

        kernsmith profile convert perf.data --kernel 1395ba40 --to counts --workload web -o w.counts

    Parameters
    ----------
    perf_data
        The file of perf record, compressed (-z), piped, or plain.
    kernel
        The vmlinux that ran, with symbols (and for afdo and text with line tables); or a kernel
        that kernsmith built: its folder, or the beginning of its key.
    output
        The file for the profile.
    to
        afdo: as clang reads it; text: the same for people; counts: of branches, for --profile.
    samples
        ip: count where the kernel was interrupted instead, for files without branch stacks.
    workload
        What ran, in a word of yours (ASCII, no blanks), for the file of counts; may be given
        several times.
    static_keys
        Also count code around jumps that the running kernel had patched to nops, which llvm-profgen
        leaves out.
    json
        Print the result as JSON.
    """
    from kernsmith.kernel.artifact import named_vmlinux
    from kernsmith.kernel.toolchain import find_toolchain
    from kernsmith.profile import write_counts
    from kernsmith.profile.counts import is_workload_name
    from kernsmith.profile.perfdata import read_perf_data
    from kernsmith.profile.symbolized import symbolized

    if workload and to != "counts":
        raise UserError(f"--workload stands in files of counts alone, --to is {to}")
    for word in workload:
        if not is_workload_name(word):
            raise UserError(
                f"--workload {word!a} cannot stand in a file of counts: take printed ASCII without "
                "blanks"
            )
    vmlinux = named_vmlinux(kernel)
    check_outputs([output], [perf_data, vmlinux])
    found = read_perf_data(
        perf_data, vmlinux, instructions=samples == "ip", static_keys=static_keys
    )
    if to == "counts":
        write_counts(replace(found.counts, workloads=workload), output)
    elif not found.has_lines:
        raise UserError(
            f"{vmlinux} has no line tables, which --to {to} needs: give the one of the build, or "
            "take --to counts"
        )
    else:
        form = "extbinary" if to == "afdo" else "text"
        symbolized(found.counts, vmlinux, find_toolchain(), output, None, form=form)
    if json:
        sys.stdout.write(_converted_as_json(found, output, to))
    else:
        _print_converted(found, output)
    return 0


@profile.command
def record(
    kernel: str,
    /,
    *,
    workload: Names = ("lab",),
    counts: NewFile | None = None,
    perf_data: NewFile | None = None,
    period: int = DEFAULT_PERIOD,
    json: Switch = False,
) -> int:
    """Run workloads on a kernel in the simulated machine, and write what branches were taken.

    Every branch is seen: --counts has exact figures, what AutoFDO is trained with. --perf-data is a
    file as perf record -b -e branches:k writes it, sampled as hardware does: every so many taken
    branches, the 32 last of them. perf report, perf script and llvm-profgen read it.

    Examples:

        kernsmith profile record 1395ba40 --workload pipe --counts pipe.counts

        kernsmith profile record vmlinux --perf-data perf.data --period 1009

        perf report -i perf.data -k vmlinux

    Parameters
    ----------
    kernel
        A kernel that kernsmith built: its vmlinux, its folder, or the beginning of its key.
    workload
        Workloads or sets of them; may be given several times.
    counts
        The file for exact counts, in which each workload has the same weight.
    perf_data
        The file for samples, in which each workload has as many as it has branches for.
    period
        Branches of the kernel from one sample to the next.
    json
        Print the result as JSON.
    """
    from kernsmith.cli.progress import ProgressDisplay

    if counts is None and perf_data is None:
        raise UserError("nothing to write: give --counts FILE, --perf-data FILE, or both")
    if period < 1:
        raise UserError(f"--period must be at least 1, it is {period}")
    check_outputs([counts, perf_data])
    with ProgressDisplay() as display:
        document = _record(kernel, workload, counts, perf_data, period, display)
    if json:
        sys.stdout.write(json_text.dumps({"version": 1} | document, indent=1) + "\n")
        return 0
    if counts is not None:
        print(f"counts:    {document['counts']}")
    if perf_data is not None:
        told = f"{document['samples']:,} samples of {document['branches']:,} branches"
        print(f"perf.data: {document['perf_data']} ({told})")
    return 0


def _record(
    kernel: str,
    names: Sequence[str],
    counts: Path | None,
    perf_data: Path | None,
    period: int,
    events: Events,
) -> dict[str, Any]:
    """Write what is asked for; tells where, and how much."""
    from kernsmith.engine.recording import record_counts, record_perf_data
    from kernsmith.guest.workloads import load_catalogue
    from kernsmith.kernel.artifact import named_kernel
    from kernsmith.machine.tcg import open_machine
    from kernsmith.profile import write_counts

    chosen = named_kernel(kernel)
    check_outputs([counts, perf_data], [chosen.vmlinux])
    workloads = load_catalogue().including(names).select(names)
    machine = open_machine("emeraldrapids")
    document: dict[str, Any] = {"kernel": chosen.key}
    if counts is not None:
        write_counts(record_counts(chosen, workloads, machine, events), counts)
        document["counts"] = str(counts.absolute())
    if perf_data is not None:
        perf_data.parent.mkdir(parents=True, exist_ok=True)
        command = ["kernsmith", "profile", "record", chosen.key, "--period", str(period)]
        command += [word for each in workloads for word in ("--workload", each.name)]
        taken, branches = record_perf_data(
            chosen, workloads, machine, events, perf_data, period=period, command=command
        )
        document["perf_data"] = str(perf_data.absolute())
        document |= {"samples": taken, "branches": branches, "period": period}
    return document


def _converted_as_json(found: PerfData, output: Path, to: str) -> str:
    document = {
        "version": 1,
        "output": str(output.absolute()),
        "to": to,
        "samples": found.samples,
        "entries": found.entries,
        "inside": found.inside,
        "ranges": len(found.counts.ranges),
        "branches": len(found.counts.branches),
        "guests": found.guests,
        "lost": found.lost,
        "stray": found.stray,
        "moved": found.moved,
        "build_id": found.build_id,
        "source": found.counts.source,
        "machines": found.counts.machines,
        "modules": dict(found.modules),
        "remarks": _remarks(found),
    }
    return json_text.dumps(document, indent=1) + "\n"


def _print_converted(found: PerfData, output: Path) -> None:
    share = 100 * found.inside / found.entries
    moved = "at its link address" if not found.moved else f"moved by {found.moved:#x}"
    print(f"profile: {output.absolute()}")
    print(f"samples: {found.samples:,} with {found.entries:,} entries, {share:.1f} % of the kernel")
    print(f"kernel:  build id {found.build_id or 'unknown'}, {moved}")
    for machine in found.counts.machines:
        print(f"machine: {machine}")
    for name, entries in found.modules:
        print(f"module:  {name}, {100 * entries / found.entries:.1f} % (not in the profile)")
    for remark in _remarks(found):
        print(f"note:    {remark}")


def _remarks(found: PerfData) -> list[str]:
    """What may be wrong with a profile that could be made."""
    remarks = []
    if found.build_id is None:
        remarks.append("the file does not say of which kernel it is (no build id)")
    elif not found.counts.build_id:
        remarks.append("the vmlinux has no build id: whether the file is of it is not known")
    if found.moved is None:
        remarks.append("the file does not say where the kernel was: taken as not moved")
    if found.guests:
        remarks.append(f"{found.guests:,} samples are of guests, and were left out")
    if found.lost:
        remarks.append(f"perf lost {found.lost:,} records")
    if found.stray:
        remarks.append(f"{found.stray:,} samples are of events that the file does not have")
    return remarks
