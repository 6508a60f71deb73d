# SPDX-License-Identifier: GPL-2.0-or-later
"""`kernsmith cpu models`: the CPU models that are shipped, and how true each is."""

from __future__ import annotations

import json as json_text
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

if TYPE_CHECKING:
    from kernsmith.machine.held import Held


def models(*, json: Annotated[bool, Parameter(negative=())] = False) -> int:
    """Show the CPU models that the tcg machine can simulate, and how far off each is.

    A model's cycles are those of a front end in time, or a sum of penalties. One of the depth core
    simulates loads and stores as well, when --depth asks for it. One that was held
    against a processor says how far off its ratios between builds were; all others say that nobody
    held them, and so do all reports on them. The sources of the figures are in the files
    (cpus/*.toml), what is modelled in docs/model.md.

    For example:

        kernsmith cpu models

        kernsmith cpu models --json

    Parameters
    ----------
    json
        Print the table as JSON.
    """
    from rich.table import Table

    from kernsmith.cli.console import result_console
    from kernsmith.machine.models import shipped_models

    found = shipped_models()
    if json:
        document = [asdict(each) | {"held": _plain(each.held)} for each in found]
        written = json_text.dumps({"version": 1, "models": document}, indent=2)
        sys.stdout.write(f"{written}\n")
        return 0
    table = Table("model", "what it is", "cycles", "against a processor", box=None, pad_edge=False)
    for each in found:
        cycles = "in time" if each.in_time else "a sum of penalties"
        cycles += ", core" if "core" in each.depths else ""
        table.add_row(each.name, each.description, cycles, _truth(each.held))
    result_console().print(table)
    return 0


def _plain(held: Held | None) -> dict[str, object] | None:
    return held.model_dump() if held else None


def _truth(held: Held | None) -> str:
    if held is None:
        return "never held against one"
    return (
        f"ratios off by {held.ratio_points:.1f} points, {held.worst_points:.1f} at worst "
        f"({held.processor}, {held.measured})"
    )
