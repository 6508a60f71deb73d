# SPDX-License-Identifier: GPL-2.0-or-later
"""`kernsmith doctor`: what this machine can do, and what is missing."""

from __future__ import annotations

import json as json_text
import sys
from dataclasses import asdict

from rich.console import Console
from rich.table import Table
from rich.text import Text

from kernsmith.cli.console import result_console
from kernsmith.doctor import LIMITED, MISSING, OK, Finding, examine

_STYLES = {OK: "green", LIMITED: "yellow", MISSING: "bold red"}


def doctor(*, json: bool = False) -> int:
    """Show what this machine can do and what is missing, with the command that mends it.

    Ends with 1 when something is missing that every study needs.

    Parameters
    ----------
    json
        Print the findings as JSON.
    """
    with Console(stderr=True).status("looking at this machine") as status:
        findings = examine(lambda name: status.update(f"looking at this machine: {name}"))
    if json:
        document = {"version": 1, "findings": [asdict(finding) for finding in findings]}
        sys.stdout.write(json_text.dumps(document, indent=1) + "\n")
    else:
        result_console().print(_table(findings))
    return 1 if any(finding.status == MISSING for finding in findings) else 0


def _table(findings: tuple[Finding, ...]) -> Table:
    table = Table(box=None, pad_edge=False)
    for title in ("what", "", "seen", "to mend it"):
        table.add_column(title, overflow="fold")
    for finding in findings:
        table.add_row(
            Text(finding.name),
            Text(finding.status, style=_STYLES[finding.status]),
            Text(finding.detail),
            Text(finding.remedy),
        )
    return table
