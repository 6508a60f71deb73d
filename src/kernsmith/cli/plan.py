# SPDX-License-Identifier: GPL-2.0-or-later
"""`kernsmith plan`: what a study would build and run, in which order, and for how long."""

from __future__ import annotations

import json as json_text
import sys
from math import isfinite
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from kernsmith.cli.amounts import read_percent
from kernsmith.cli.console import result_console
from kernsmith.cli.progress import ProgressDisplay
from kernsmith.engine.estimate import estimate
from kernsmith.engine.spending import Wanted
from kernsmith.errors import UserError
from kernsmith.ledger import Ledger
from kernsmith.report.plan_tables import print_plan, print_spending
from kernsmith.stats.nested import Costs, Goal
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
    change: str | None = None,
    width: str | None = None,
    power: float = 0.95,
    costs: str | None = None,
    json: bool = False,
) -> int:
    """Show what a study would build and run, in which order, and the expected time.

    Nothing is built or booted, and nothing that the study names is run; what could only be told
    that way is shown as "not checked". (A source that is not here yet is fetched and unpacked.)

    Example:

        kernsmith plan studies/optimize.toml
        kernsmith plan seconds.toml --change 0.5%     # once some of it was measured

    Parameters
    ----------
    study
        The study's TOML file.
    trust
        A compiler or linker that the study names by its path, and that may be started; may be
        given several times. Those that are found by their names need no such word.
    layouts_by
        How random layouts are measured, whatever the study says: replay (one boot of each kernel
        and workload, or as many as the study says, serve all of them; two are linked and booted to
        check it) or boot (each is linked and booted).
    ledger
        URL of the ledger that times are estimated from; default: SQLite in the cache.
    change
        Also tell how many layouts, boots and runs it takes to find a change of so many per cent,
        for the least time: from what the ledger has of this study, a pilot. Where the study deals
        layouts out to several boots, how many boots and layouts.
    width
        The same for an interval of the ratio that is so many per cent wide.
    power
        How often such a change is to be found.
    costs
        What one more layout, boot and run take, in seconds, such as 9,20,1; default: what they took
        in the pilot, and 9 for a layout. Where layouts are dealt out to several boots, a run is a
        replayed layout, and the first number counts for nothing.
    json
        Print the plan as JSON.
    """
    asked = read_study(study, layouts_by)
    check_trust(asked, trust)
    goal = _goal(asked.design.alpha, change, width, power)
    prices = _costs(costs)
    wanted = Wanted(goal, prices) if goal else None
    opened = Ledger(ledger)
    try:
        with ProgressDisplay() as display:
            plans = [estimate(each, opened, display, wanted) for each in on_each_machine(asked)]
    finally:
        opened.close()
    if json:
        first, *others = plans
        document = first | ({"beside": others} if others else {})
        sys.stdout.write(json_text.dumps(document, indent=1) + "\n")
        return 0
    console = result_console()
    for document in plans:
        if len(plans) > 1:
            console.print(f"{document['study']}:")
        print_plan(document, console)
        if "spending" in document:
            print_spending(document["spending"], console)
    return 0


def _goal(alpha: float, change: str | None, width: str | None, power: float) -> Goal | None:
    if change is not None and width is not None:
        raise UserError("a plan is for --change or for --width, not for both")
    if change is None and width is None:
        return None
    if not alpha < power < 1:
        raise UserError(f"--power takes a number between {alpha:g} and 1, not {power:g}")
    option, text = ("--change", change) if change is not None else ("--width", width)
    percent = read_percent(option, text or "")
    if percent == 0:
        raise UserError(f"{option} takes more than 0 per cent: no study finds nothing")
    return Goal(percent, power if change is not None else None, alpha)


def _costs(text: str | None) -> Costs | None:
    if text is None:
        return None
    try:
        layout, boot, run = (float(word) for word in text.split(","))
        if not isfinite(layout + boot + run):
            raise ValueError(text)
        return Costs(layout, boot, run)
    except ValueError:
        raise UserError(
            "--costs takes the seconds of a layout, a boot and a run, such as 9,20,1 (a run takes "
            f"more than none), not {text!r}"
        ) from None
