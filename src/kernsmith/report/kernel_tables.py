# SPDX-License-Identifier: GPL-2.0-or-later
"""The table of kernels: how each was built and whether it boots, as Markdown or in a terminal."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich import box
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
_KEY_LETTERS = 12
_BANNER = re.compile(r"\b(clang|gcc)\b.*?(\d+(?:\.\d+)+)")


def print_kernels(rows: Sequence[KernelRow], console: Console) -> None:
    """Print a table of kernels. Each begins with its key, by which other commands know it; of
    compilers, names and versions are enough there."""
    variant, _, *figures, remark = _TITLES
    table = Table(box=box.SIMPLE_HEAD, padding=0, pad_edge=False)
    table.add_column("kernel", no_wrap=True)
    table.add_column(variant, overflow="fold")
    table.add_column("compiler", overflow="fold")
    for title in figures:
        table.add_column(title, justify="right", overflow="fold")
    told = any(map(_remark, rows))
    if told:
        table.add_column(remark, overflow="fold")
    for row in rows:
        name, compiler, *cells = _cells(row)
        shown = cells if told else cells[:-1]
        key = row.kernel[:_KEY_LETTERS] if row.status == "ok" else "–"
        add_texts(table, [key, name, _short(compiler), *shown])
    console.print(table)


def _short(banner: str) -> str:
    """`clang 22.1.8` of what a compiler calls itself."""
    found = _BANNER.search(banner)
    return f"{found[1]} {found[2]}" if found else banner


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
