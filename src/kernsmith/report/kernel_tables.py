# SPDX-License-Identifier: GPL-2.0-or-later
"""The table of kernels: how each was built and whether it boots, as Markdown or in a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from kernsmith.ledger.kernels import KernelRow
from kernsmith.report.plan_tables import duration
from kernsmith.report.terminal import add_texts

_TITLES = (
    "variant",
    "compiler",
    "objects",
    "compiled",
    "build",
    "text",
    "boots",
    "layouts",
    "remark",
)
_REMARK_WIDTH = 300


def print_kernels(rows: Sequence[KernelRow], console: Console) -> None:
    """Print a table of kernels."""
    table = Table()
    for title in _TITLES:
        table.add_column(title, overflow="fold")
    for row in rows:
        add_texts(table, _cells(row))
    console.print(table)


def kernels_as_markdown(rows: Sequence[KernelRow]) -> str:
    """The table as Markdown text."""
    lines = ["| " + " | ".join(_TITLES) + " |", "|" + " --- |" * len(_TITLES)]
    for row in rows:
        cells = (cell.replace("|", "\\|") for cell in _cells(row))
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _cells(row: KernelRow) -> list[str]:
    boots = f"{row.boots} ok" if row.boots else "–"
    if row.failed_boots:
        boots = f"{boots}, {row.failed_boots} failed" if row.boots else f"{row.failed_boots} failed"
    return [
        row.variant,
        row.compiler,
        "–" if row.objects is None else str(row.objects),
        "–" if row.compiled is None else str(row.compiled),
        "–" if row.seconds is None else duration(row.seconds),
        "–" if row.text_bytes is None else f"{row.text_bytes / 1024:.0f} KiB",
        boots,
        str(row.layouts) if row.layouts else "–",
        _remark(row),
    ]


def _remark(row: KernelRow) -> str:
    """Why there is no kernel, or what its first failed boot said; in one line."""
    text = " ".join(row.reason.split())
    text = text if len(text) <= _REMARK_WIDTH else f"{text[:_REMARK_WIDTH]}…"
    return text if row.status == "ok" else f"{row.status}: {text}"
