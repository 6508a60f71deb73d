# SPDX-License-Identifier: GPL-2.0-or-later
"""Which compiler took which objects, which linker linked what, and which patterns no object
fits: in the terminal and as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from rich.console import Console

from kernsmith.kernel.taken_objects import Taken, by_program, by_reason
from kernsmith.report.terminal import add_texts, text_table

_NAMED = 3


def print_taken(taken: Sequence[Taken], console: Console) -> None:
    """The compilers with their numbers of objects; and the reasons why a fallback took some."""
    table = text_table()
    table.add_column("compiler")
    table.add_column("objects", justify="right")
    for program, count in by_program(taken).items():
        add_texts(table, [program, str(count)])
    console.print(table)
    reasons = by_reason(taken)
    if not reasons:
        return
    table = text_table("What went to the fallback, and why")
    table.add_column("objects", justify="right")
    table.add_column("reason", overflow="fold")
    table.add_column("such as", overflow="fold")
    for reason, objects in reasons.items():
        add_texts(table, [str(len(objects)), reason, ", ".join(objects[:_NAMED])])
    console.print(table)


def print_linked(linked: Mapping[str, str], console: Console) -> None:
    """Other linkers than kbuild's, with what they have linked."""
    table = text_table()
    table.add_column("linker")
    table.add_column("files", justify="right")
    table.add_column("such as", overflow="fold")
    for linker in sorted(set(linked.values())):
        files = [name for name, by in linked.items() if by == linker]
        add_texts(table, [linker, str(len(files)), ", ".join(files[:_NAMED])])
    console.print(table)


def print_unmatched(patterns: Sequence[str], console: Console) -> None:
    """Patterns of rules without an object."""
    table = text_table()
    table.add_column("no object that is compiled from C fits", overflow="fold")
    for pattern in patterns:
        add_texts(table, [pattern])
    console.print(table)


def taken_json(
    taken: Sequence[Taken], linked: Mapping[str, str], patterns: Sequence[str] = ()
) -> str:
    """All objects, all files that other linkers than kbuild's have linked, and all patterns that no
    object fits."""
    document = {
        "format": "kernsmith-taken",
        "version": 1,
        "compilers": dict(by_program(taken)),
        "objects": [asdict(each) for each in taken],
        "linked": dict(linked),
        "unmatched": list(patterns),
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"
