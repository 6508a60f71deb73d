# SPDX-License-Identifier: GPL-2.0-or-later
"""`kernsmith ledger`: which runs the ledger holds, and which of them count no longer."""

from __future__ import annotations

import json as json_text
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Annotated

from cyclopts import App, Parameter
from rich.table import Table
from rich.text import Text

from kernsmith.cli.console import result_console
from kernsmith.ledger import Ledger
from kernsmith.ledger.table import reading
from kernsmith.ledger.voids import ListedRun, Selection, find_runs

ledger = App(name="ledger", help="List the runs that the ledger holds; void those that are wrong.")

_TITLES = ("run", "started", "machine", "variant", "layout", "workload", "trial", "status")


@Parameter(name="*")
@dataclass(frozen=True)
class Which:
    """Which runs; all that is said must fit."""

    study: Annotated[str, Parameter(help="Of this study: its name, or how its digest begins.")] = ""
    trial: Annotated[str, Parameter(help="Of the trial whose digest begins like this.")] = ""
    variant: Annotated[str, Parameter(help="Of this variant.")] = ""
    workload: Annotated[str, Parameter(help="Of this workload.")] = ""
    machine: Annotated[str, Parameter(help="On this machine.")] = ""
    status: Annotated[str, Parameter(help="That ended so: ok, panic, hang or failed.")] = ""
    since: Annotated[str, Parameter(help="Started on this day (UTC) or later: 2026-03-01.")] = ""
    until: Annotated[str, Parameter(help="Started on this day (UTC) or earlier.")] = ""


@ledger.command
def runs(
    run: Annotated[tuple[int, ...], Parameter(negative=())] = (),
    /,
    *,
    which: Which | None = None,
    ledger: str | None = None,
    json: bool = False,
) -> int:
    """List runs, with the numbers that `kernsmith ledger void` takes.

    Examples:

        kernsmith ledger runs --study march

        kernsmith ledger runs --machine tcg --since 2026-03-01 --until 2026-03-02 --json

        kernsmith ledger runs --trial 5f2a9c --status panic

    Parameters
    ----------
    run
        Numbers of runs; default: all that fit.
    ledger
        URL of the ledger; default: SQLite in the cache.
    json
        Print JSON.
    """
    selection = _selection(run, which)
    with reading(ledger) as connection:
        found = find_runs(connection, selection)
    _show(found, as_json=json, none="no run fits")
    return 0


@ledger.command
def void(
    run: Annotated[tuple[int, ...], Parameter(negative=())] = (),
    /,
    *,
    reason: str,
    which: Which | None = None,
    ledger: str | None = None,
    json: bool = False,
) -> int:
    """Let runs count no longer, and say why.

    Nothing is deleted or edited: a row is added that says which run, why, by whom and when. Voided
    runs are in no figure, report or estimate; their trials are open, and the next `kernsmith run`
    of a study runs them anew. See first with `kernsmith ledger runs` what the same words select.

    Examples:

        kernsmith ledger void 17 18 19 --reason "the guest program was edited meanwhile"

        kernsmith ledger void --study march --since 2026-03-01 --reason "wrong CPU model"

    Parameters
    ----------
    run
        Numbers of runs; default: all that fit.
    reason
        Why they are wrong, for who reads the ledger later.
    ledger
        URL of the ledger; default: SQLite in the cache.
    json
        Print those that were voided as JSON.
    """
    selection = _selection(run, which)
    with reading(ledger) as connection:  # a ledger that is not there is not made for this
        find_runs(connection, selection)
    opened = Ledger(ledger)
    try:
        voided = opened.void(selection, reason)
    finally:
        opened.close()
    _show(voided, as_json=json, none="no run fits that still counts")
    return 0


def _selection(run: Sequence[int], which: Which | None) -> Selection:
    return Selection(numbers=tuple(run), **vars(which or Which()))


def _show(found: Sequence[ListedRun], *, as_json: bool, none: str) -> None:
    if as_json:
        document = {"version": 1, "runs": [asdict(run) for run in found]}
        sys.stdout.write(json_text.dumps(document, indent=1) + "\n")
        return
    result_console().print(_table(found) if found else Text(none))


def _table(found: Sequence[ListedRun]) -> Table:
    table = Table(box=None, pad_edge=False)
    for title in _TITLES:
        table.add_column(title, overflow="fold", no_wrap=title in ("run", "started"))
    for run in found:
        ended = f"{run.status}, replayed" if run.replayed else run.status
        status = f"void: {run.voided}" if run.voided else ended
        cells = (
            str(run.run), run.started_at[:19], run.machine, run.variant, run.layout, run.workload,
            run.trial[:12], status,
        )  # fmt: skip
        table.add_row(*(Text(cell) for cell in cells))
    return table
