# SPDX-License-Identifier: GPL-2.0-or-later
"""`kernsmith plan`: what a study would build and run, in which order, and for how long."""

from __future__ import annotations

import json as json_text
import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console

from kernsmith.cli.progress import ProgressDisplay
from kernsmith.engine.estimate import estimate
from kernsmith.ledger import Ledger
from kernsmith.report.plan_tables import print_plan
from kernsmith.study.check import check_trust
from kernsmith.study.file import read_study
from kernsmith.study.machines import on_each_machine
from kernsmith.study.study import LayoutsBy


def plan(
    study: Path,
    /,
    *,
    trust: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    layouts_by: LayoutsBy | None = None,
    ledger: str | None = None,
    json: bool = False,
) -> int:
    """Show what a study would build and run, in which order, and the expected time.

    Nothing is built or booted, and nothing that the study names is run; what could only be told
    that way is shown as "not checked". (A source that is not here yet is fetched and unpacked.)

    Example:

        kernsmith plan studies/optimize.toml

    Parameters
    ----------
    study
        The study's TOML file.
    trust
        A compiler or linker that the study names by its path, and that may be started; may be
        given several times. Those that are found by their names need no such word.
    layouts_by
        How random layouts are measured, whatever the study says: replay (one boot of each kernel
        and workload serves all of them; two are linked and booted to check it) or boot (each is
        linked and booted).
    ledger
        URL of the ledger that times are estimated from; default: SQLite in the cache.
    json
        Print the plan as JSON.
    """
    asked = read_study(study, layouts_by)
    check_trust(asked, trust)
    opened = Ledger(ledger)
    try:
        with ProgressDisplay() as display:
            plans = [estimate(each, opened, display) for each in on_each_machine(asked)]
    finally:
        opened.close()
    if json:
        first, *others = plans
        document = first | ({"beside": others} if others else {})
        sys.stdout.write(json_text.dumps(document, indent=1) + "\n")
        return 0
    console = Console(highlight=False)
    for document in plans:
        if len(plans) > 1:
            console.print(f"{document['study']}:")
        print_plan(document, console)
    return 0
