# SPDX-License-Identifier: GPL-2.0-or-later
"""The result in the terminal."""

from __future__ import annotations

from rich.console import Console

from kernsmith.document.shares import SharesDocument
from kernsmith.report.shares.sections import ALL, TOGETHER
from kernsmith.report.shares.words import (
    change_words,
    condition_words,
    function_words,
    p_words,
    verdict_sentence,
)
from kernsmith.report.terminal import add_texts, say, text_table


def print_shares(document: SharesDocument, console: Console) -> None:
    """Print the objects, and then what they come to."""
    views = (("", document.top), ("besides", document.others))
    if document.top or document.others:
        table = text_table(f"{document.good.name} with one object of {document.bad.name}")
        table.add_column("object", overflow="fold")
        for name in ("change over layouts", "p", "expected"):
            table.add_column(name, justify="right", no_wrap=True)
        table.add_column("functions", overflow="fold")
        for caption, group in views:
            if caption and group:
                table.add_section()
            for view in group:
                expected = f"{view.expected:+.2f} %"
                cells = [view.object, change_words(view), p_words(view), expected]
                add_texts(table, [*cells, function_words(view)])
        table.add_section()
        for name, whole in ((TOGETHER, document.together), (ALL, document.whole)):
            if whole is not None:
                add_texts(table, [name, change_words(whole), "", "", ""])
        console.print(table)
    say(console, condition_words(document))
    say(console, verdict_sentence(document))
    say(console, f"report   {document.report}")
