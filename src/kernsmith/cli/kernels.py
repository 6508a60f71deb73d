# SPDX-License-Identifier: GPL-2.0-or-later
"""`kernsmith kernels`: how the kernels of studies were built, and whether they boot."""

from __future__ import annotations

import json as json_text
import sys
from dataclasses import asdict
from typing import Annotated

from cyclopts import Parameter

from kernsmith.cli.console import result_console
from kernsmith.ledger.kernels import read_kernels
from kernsmith.report.kernel_tables import kernels_as_markdown, print_kernels


def kernels(
    study: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    /,
    *,
    ledger: str | None = None,
    markdown: bool = False,
    json: bool = False,
) -> int:
    """Show every variant of the ledger's studies: objects, build time, size, boots.

    Variants that do not build, do not boot or were refused are there with the reason. Objects and
    times are of the build that made the kernel; "compiled" counts what ccache did not have (of all
    that a build compiles: tools and boot code, too).

    Examples:

        kernsmith kernels

        kernsmith kernels march gcc-clang --markdown

    Parameters
    ----------
    study
        Names of studies; default: all.
    ledger
        URL of the ledger; default: SQLite in the cache.
    markdown
        Print a Markdown table.
    json
        Print JSON.
    """
    rows = read_kernels(study, ledger)
    if json:
        document = {"version": 1, "kernels": [asdict(row) for row in rows]}
        sys.stdout.write(json_text.dumps(document, indent=1) + "\n")
    elif markdown:
        sys.stdout.write(kernels_as_markdown(rows))
    else:
        print_kernels(rows, result_console())
    return 0
