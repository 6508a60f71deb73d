# SPDX-License-Identifier: GPL-2.0-or-later
"""`kernsmith prune`: what the caches hold, and the command that frees it."""

from __future__ import annotations

import json as json_text
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

from cyclopts import Parameter
from rich.table import Table
from rich.text import Text

from kernsmith.cli.amounts import read_days
from kernsmith.cli.console import result_console
from kernsmith.errors import UserError
from kernsmith.store import KINDS, Entry, local_store

_DAY = 86_400.0


def prune(
    kind: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    /,
    *,
    unused_for: str = "0d",
    yes: bool = False,
    json: bool = False,
) -> int:
    """Show what the caches hold, by kind; with --yes, remove it.

    Kinds: kernels (with their layouts, traces and profiles), layouts, traces, profiles,
    program-traces (of `silicon` and `cpu calibrate`), consoles,
    sources, compile-cache, toolchains, roots, snapshots, answers. Everything can be made again.
    What somebody is using now stays (a kernel with its layouts, the consoles of a run that is under
    way), and so does the ledger: runs that are in it are not measured again. What a process that
    was killed has left is shown once nobody wrote to it for a day.

    Examples:

        kernsmith prune

        kernsmith prune layouts traces --unused-for 7d

        kernsmith prune layouts traces --unused-for 7d --yes

    Parameters
    ----------
    kind
        Only these kinds; default for showing: all. For removing, they must be named.
    unused_for
        Only what was not written for so long: 7d, 12h.
    yes
        Remove it.
    json
        Print JSON.
    """
    for name in kind:
        if name not in KINDS:
            raise UserError(f"the caches hold no {name!r}: allowed are {', '.join(KINDS)}")
    if yes and not kind:
        raise UserError(f"--yes needs the kinds to remove: {', '.join(KINDS)}")
    days = read_days("--unused-for", unused_for)
    before = time.time() - days * _DAY
    store = local_store()
    found = [entry for entry in store.entries(kind) if not days or entry.used <= before]
    removed = [entry for entry in found if store.remove(entry)] if yes else []
    if json:
        document = {
            "format": "kernsmith-prune",
            "version": 1,
            "entries": [asdict(e) | {"removed": e in removed} for e in found],
        }
        sys.stdout.write(json_text.dumps(document, indent=1) + "\n")
    else:
        _print(found, removed, yes)
    return 0


def _print(found: Sequence[Entry], removed: Sequence[Entry], yes: bool) -> None:
    console = result_console()
    title = Text(f"The caches in {local_store().root}", "table.title")
    table = Table(title=title, title_justify="left")
    table.add_column("kind")
    for column in ("entries", "size", "oldest", "newest"):
        table.add_column(column, justify="right")
    for kind in KINDS:
        if of_kind := [entry for entry in found if entry.kind == kind]:
            ages = sorted(entry.used for entry in of_kind)
            size = _size(sum(entry.size for entry in of_kind))
            table.add_row(kind, str(len(of_kind)), size, _age(ages[0]), _age(ages[-1]))
    console.print(table)
    total = _size(sum(entry.size for entry in found))
    if not yes:
        console.print(f"{total} in all; kernsmith prune KIND… --yes removes them")
        return
    freed = _size(sum(entry.size for entry in removed))
    console.print(f"removed {len(removed)} of {len(found)}: {freed} freed")
    if left := len(found) - len(removed):
        console.print(f"{left} stayed: in use, or this user may not remove them")


def _size(count: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024 or unit == "GiB":
            return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    raise AssertionError


def _age(used: float) -> str:
    days = max(0.0, (time.time() - used) / _DAY)
    return f"{days:.0f} d" if days >= 1 else f"{24 * days:.0f} h"
