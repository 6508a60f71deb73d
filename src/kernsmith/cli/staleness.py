# SPDX-License-Identifier: GPL-2.0-or-later
"""`kernsmith profile match` and `carry`: a profile of another kernel, and this one."""

from __future__ import annotations

import json as json_text
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from kernsmith.cli.output import OutputFile, check_outputs
from kernsmith.errors import UserError


def match(
    profile: Path,
    /,
    *,
    kernel: str,
    limit: int = 10,
    json: Annotated[bool, Parameter(negative=())] = False,
) -> int:
    """Show how much of an AutoFDO profile fits a kernel: of another version, or another config.

    The compiler finds counts by the name of a function and the distance of a line from its first,
    and what was inlined by the line of the call. What a function of another name has counted is
    lost, and what stands behind a change in one that was changed. kernsmith profile carry puts
    counts where these lines and functions are now, as far as calls tell.

    Examples:

        kernsmith profile match web.afdo --kernel vmlinux

        kernsmith profile match 6.12.afdo --kernel 1395ba40 --limit 0

    Parameters
    ----------
    profile
        An AutoFDO profile, binary or text (kernsmith profile convert, llvm-profgen).
    kernel
        A vmlinux with line tables, or a kernel that kernsmith built: its folder, or the beginning
        of its key.
    limit
        So many functions of which something is lost; 0 shows all.
    json
        Print JSON.
    """
    from kernsmith.kernel.artifact import named_vmlinux
    from kernsmith.kernel.toolchain import find_toolchain
    from kernsmith.profile.staleness import match_profile

    if limit < 0:
        raise UserError(f"--limit must be at least 0, it is {limit}")
    _check_by_line(profile)
    found = match_profile(profile, named_vmlinux(kernel), find_toolchain())
    shown = found.lost[: limit or None]
    if json:
        document = {"version": 1} | asdict(found) | {"lost": [asdict(each) for each in shown]}
        sys.stdout.write(json_text.dumps(document, indent=1) + "\n")
        return 0
    print(f"functions: {found.functions:.1%} of all counts are of functions that the kernel has")
    print(f"lines:     {found.lines:.1%} are of lines that it has code of")
    print(f"found:     {found.found:.1%} are where the compiler looks, inlined code included")
    print(f"carried:   {found.carried:.1%} are, when lines and names are carried to this kernel's")
    if shown:
        print(f"{'lost':>7}  function")
    for each in shown:
        print(f"{each.share:7.2%}  {each.function}{'' if each.known else ' (not in the kernel)'}")
    return 0


def carry(
    profile: Path,
    /,
    *,
    kernel: str,
    output: OutputFile,
    json: Annotated[bool, Parameter(negative=())] = False,
) -> int:
    """Write an AutoFDO profile of another version with a kernel's own lines and names.

    The calls in a function are aligned with those that it makes now; lines between move with them.
    A function whose name is gone is taken for a new one that calls the same things, and one of
    which less than half would be found is left out. What the profile was trained on gains; other
    work may lose by counts that stand at the wrong line (docs/profile.md has figures).

    Examples:

        kernsmith profile carry 6.12.afdo --kernel vmlinux -o 7.3.afdo

        kernsmith optimize --source debian:7.3 --workload lab --with autofdo --profile 7.3.afdo

    Parameters
    ----------
    profile
        An AutoFDO profile, binary or text (kernsmith profile convert, llvm-profgen).
    kernel
        A vmlinux with line tables, or a kernel that kernsmith built: its folder, or the beginning
        of its key.
    output
        The file for the profile, as clang reads it.
    json
        Print JSON.
    """
    from kernsmith.kernel.artifact import named_vmlinux
    from kernsmith.kernel.toolchain import find_toolchain
    from kernsmith.profile.carried import carry as carried_to
    from kernsmith.profile.lines import has_flow_sensitive, write_profile
    from kernsmith.profile.staleness import read_both

    _check_by_line(profile)
    vmlinux, toolchain = named_vmlinux(kernel), find_toolchain()
    check_outputs([output], [profile, vmlinux])
    counts, lines = read_both(profile, vmlinux, toolchain)
    carried = carried_to(counts, lines)
    if not carried.found:
        raise UserError(
            f"nothing of {profile} fits {vmlinux}: of no function as much as half would be found"
        )
    kind = has_flow_sensitive(profile, counts, toolchain)
    write_profile(carried.profile, toolchain, output, flow_sensitive=kind)
    if json:
        document = {
            "version": 1, "found": carried.before, "carried": carried.found,
            "renamed": carried.renamed, "left": carried.left, "output": str(output),
        }  # fmt: skip
        sys.stdout.write(json_text.dumps(document, indent=1) + "\n")
        return 0
    print(f"found:     {carried.before:.1%} of all counts were where the compiler looks")
    print(f"carried:   {carried.found:.1%} are in {output}")
    if carried.left:
        print(f"left:      {len(carried.left)} functions, of which less than half would be found")
    for old, new in sorted(carried.renamed.items()):
        print(f"{old} is {new} now")
    return 0


def _check_by_line(profile: Path) -> None:
    from kernsmith.profile.counts import is_counts

    if is_counts(profile):
        raise UserError(
            f"{profile} has counts by address, which are of one kernel alone: give a profile by "
            "function and line (--to afdo)"
        )
