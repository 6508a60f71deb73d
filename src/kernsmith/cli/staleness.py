# SPDX-License-Identifier: GPL-2.0-or-later
"""`kernsmith profile match`: how much of a profile of another kernel fits this one."""

from __future__ import annotations

import json as json_text
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

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

    The compiler finds counts by the name of a function and the distance of a line from its first.
    What a function of another name has counted is lost, and what stands behind a change in one that
    was changed. A stale profile is worth at most the share that fits.

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
    from kernsmith.profile.counts import is_counts
    from kernsmith.profile.staleness import match_profile

    if limit < 0:
        raise UserError(f"--limit must be at least 0, it is {limit}")
    if is_counts(profile):
        raise UserError(
            f"{profile} has counts by address, which are of one kernel alone: give a profile by "
            "function and line (--to afdo)"
        )
    found = match_profile(profile, named_vmlinux(kernel), find_toolchain())
    shown = found.lost[: limit or None]
    if json:
        document = {"version": 1} | asdict(found) | {"lost": [asdict(each) for each in shown]}
        sys.stdout.write(json_text.dumps(document, indent=1) + "\n")
        return 0
    print(f"functions: {found.functions:.1%} of all counts are of functions that the kernel has")
    print(f"lines:     {found.lines:.1%} are of lines that it has code of")
    if shown:
        print(f"{'lost':>7}  function")
    for each in shown:
        print(f"{each.share:7.2%}  {each.function}{'' if each.known else ' (not in the kernel)'}")
    return 0
