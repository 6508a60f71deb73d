# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables in a terminal whose cells are text: `a[/b]` in a user's words is no markup of rich."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text


def text_table(title: str = "") -> Table:
    """An empty table; columns are added by `rich.table.Table.add_column`, with words of ours."""
    return Table(title=Text(title, style="table.title") if title else None)


def add_texts(table: Table, texts: Sequence[str]) -> None:
    """Add a row of texts, shown as they are."""
    table.add_row(*(Text(text) for text in texts))


def say(console: Console, text: str) -> None:
    """Print one paragraph as it is: no markup, no breaks but the terminal's own."""
    console.print(text, soft_wrap=True, markup=False)
