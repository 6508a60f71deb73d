# SPDX-License-Identifier: GPL-2.0-or-later
"""The sections of a page as text for a terminal, or as Markdown. Charts and figures stay out."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

from kernsmith.report.page import (
    Bullets,
    Chart,
    Code,
    Details,
    Drawing,
    Heading,
    Link,
    Section,
    Table,
    Text,
    Verdict,
    cell_text,
    kind_word,
)

_WIDTH = 100


def as_text(sections: Sequence[Section], width: int = _WIDTH) -> str:
    """Sections as plain text with aligned tables, ended by a line end.

    width: of paragraphs, in letters; tables have what they need.
    """
    blocks = [block for section in sections if (block := _text_block(section, width))]
    return "\n\n".join(blocks) + "\n"


def as_markdown(sections: Sequence[Section]) -> str:
    """Sections as GitHub-flavoured Markdown; every cell and sentence is escaped."""
    blocks = [block for section in sections if (block := _markdown_block(section))]
    return "\n\n".join(blocks) + "\n"


def _text_block(section: Section, width: int) -> str:
    match section:
        case Heading(text, level):
            return f"{text}\n{('=' if level == 2 else '-') * len(text)}"
        case Text(text):
            return textwrap.fill(text, width)
        case Verdict(text, kind):
            return textwrap.fill(f"{kind_word(kind)}: {text}", width, subsequent_indent="  ")
        case Bullets(items):
            return "\n".join(
                textwrap.fill(item, width, initial_indent="- ", subsequent_indent="  ")
                for item in items
            )
        case Table():
            return _text_table(section)
        case Code(text, _):
            return textwrap.indent(text, "    ")
        case Details(summary, sections):
            return f"{summary}\n\n{as_text(sections, width)}".rstrip()
        case Chart() | Drawing():
            return ""


def _cells(table: Table) -> list[list[str]]:
    head = [f"{c.title} ({c.unit})" if c.unit else c.title for c in table.columns]
    body = [
        [cell_text(value, column) for value, column in zip(row, table.columns, strict=True)]
        for row in table.rows
    ]
    return [[" ".join(cell.split()) for cell in row] for row in (head, *body)]


def _text_table(table: Table) -> str:
    cells = _cells(table)
    widths = [max(len(row[index]) for row in cells) for index in range(len(table.columns))]
    lines = [
        "  ".join(
            text.ljust(width) if column.number is None else text.rjust(width)
            for text, width, column in zip(row, widths, table.columns, strict=True)
        ).rstrip()
        for row in cells
    ]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join([table.caption, *lines] if table.caption else lines)


def _markdown_block(section: Section) -> str:
    match section:
        case Heading(text, level):
            return f"{'#' * level} {_escaped(text)}"
        case Text(text):
            return _escaped(text)
        case Verdict(text, kind):
            return f"**{kind_word(kind)}:** {_escaped(text)}"
        case Bullets(items):
            return "\n".join(f"- {_escaped(item)}" for item in items)
        case Table():
            return _markdown_table(section)
        case Code(text, _):
            return f"```\n{text}\n```"
        case Details(summary, sections):
            head = f"<details><summary>{_escaped(summary)}</summary>"
            return f"{head}\n\n{as_markdown(sections)}\n</details>"
        case Chart() | Drawing():
            return ""


def _markdown_table(table: Table) -> str:
    head, *body = [[_escaped(cell) for cell in row] for row in _cells(table)]
    for texts, row in zip(body, table.rows, strict=True):
        for number, value in enumerate(row):
            # A way to another page of a site means nothing elsewhere.
            if isinstance(value, Link) and re.match(r"https?://", value.to):
                texts[number] = f"[{texts[number]}]({value.to})"
    rule = ["---" if column.number is None else "---:" for column in table.columns]
    lines = ["| " + " | ".join(row) + " |" for row in (head, rule, *body)]
    return "\n".join([f"{_escaped(table.caption)}\n", *lines] if table.caption else lines)


def _escaped(text: str) -> str:
    for character in "\\`*_[]|":
        text = text.replace(character, "\\" + character)
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
