# SPDX-License-Identifier: GPL-2.0-or-later
"""`kernsmith export`: what others need to build a kernel by their own means."""

from __future__ import annotations

import json as json_text
import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from kernsmith.cli.output import OutputFolder
from kernsmith.errors import UserError


def export(
    kernel: str,
    /,
    *,
    flags: Annotated[bool, Parameter(negative=())] = False,
    output: OutputFolder = Path("kernsmith-flags"),
    json: bool = False,
) -> int:
    """Export a kernel's profile and flags, for a distribution's own package of the same source.

    The folder has the profiles, flags.sh (arrays for bash: a PKGBUILD, an ebuild, make by hand),
    make.conf (for Portage), kernsmith.config (config symbols) and a README that says how each is
    used. Nothing in it names a path of this machine.

    Example:

        kernsmith export 1395ba40 --flags -o kernsmith-flags

    Parameters
    ----------
    kernel
        A kernel that kernsmith built: its vmlinux, its folder, or the beginning of its key.
    flags
        Profile and flags.
    output
        The folder for them: absent, empty, or with an earlier export, which is replaced.
    json
        Print the paths as JSON.
    """
    from kernsmith.kernel.artifact import named_kernel
    from kernsmith.kernel.flags_folder import write_flags

    if not flags:
        raise UserError("what of it? Say --flags: the kernel's profile and flags")
    files = write_flags(named_kernel(kernel), output)
    if json:
        sys.stdout.write(json_text.dumps([str(path.absolute()) for path in files], indent=1) + "\n")
    else:
        for path in files:
            print(path)
    return 0
