# SPDX-License-Identifier: GPL-2.0-or-later
"""The result in the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from kernsmith.document import BlameDocument
from kernsmith.report.blame.words import (
    amount_words,
    change_of,
    condition_words,
    function_words,
    narrowed_words,
    verdict_sentence,
)
from kernsmith.report.terminal import add_texts, say, text_table


def print_blame(document: BlameDocument, console: Console) -> None:
    """Print all tests, and then what came out of them."""
    console.print(_tests(document))
    say(console, condition_words(document))
    say(console, verdict_sentence(document))
    for view in document.blamed:
        narrowed, differ = narrowed_words(view), function_words(view)
        say(console, f"    {view.object}{f': {narrowed}' if narrowed else ''}")
        if differ:
            say(console, f"        code differs in {differ}")
    if document.vmlinux:
        say(console, f"vmlinux  {document.vmlinux}")
    say(console, f"report   {document.report}")


def _tests(document: BlameDocument) -> Table:
    table = text_table(f"{document.good.name} with parts of {document.bad.name}")
    metric = ["change over layouts", "layouts"] if document.metric else []
    for name in ("test", "taken", *metric):
        table.add_column(name, justify="right", no_wrap=True)
    for name in ("verdict", "reason"):
        table.add_column(name, overflow="fold")
    for test in document.tests:
        figures = [change_of(test), str(test.layouts or "–")] if metric else []
        cells = [str(test.number), amount_words(test), *figures, test.verdict, test.reason]
        add_texts(table, cells)
    return table
