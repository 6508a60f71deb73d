# SPDX-License-Identifier: GPL-2.0-or-later
"""`kernsmith plan`: what a study would build and run, in which order, and for how long."""

from __future__ import annotations

import json as json_text
import sys
from pathlib import Path

from rich.console import Console

from kernsmith.cli.progress import ProgressDisplay
from kernsmith.engine.estimate import estimate
from kernsmith.ledger import Ledger
from kernsmith.report.plan_tables import print_plan
from kernsmith.study.file import read_study


def plan(study: Path, /, *, ledger: str | None = None, json: bool = False) -> int:
    """Show what a study would build and run, in which order, and the expected time.

    Nothing is built or booted (a source that is not here yet is fetched).

    Example:

        kernsmith plan studies/optimize.toml

    Parameters
    ----------
    study
        The study's TOML file.
    ledger
        URL of the ledger that times are estimated from; default: SQLite in the cache.
    json
        Print the plan as JSON.
    """
    opened = Ledger(ledger)
    try:
        with ProgressDisplay() as display:
            document = estimate(read_study(study), opened, display)
    finally:
        opened.close()
    if json:
        sys.stdout.write(json_text.dumps(document, indent=1) + "\n")
    else:
        print_plan(document, Console(highlight=False))
    return 0
