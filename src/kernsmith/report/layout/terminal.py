# SPDX-License-Identifier: GPL-2.0-or-later
"""Layouts in the terminal."""

from __future__ import annotations

from rich.console import Console

from kernsmith.document import LayoutDocument, OrdersDocument, SampleDocument
from kernsmith.report.layout.words import SHOWN
from kernsmith.report.terminal import add_texts, text_table


def print_layouts(document: LayoutDocument, console: Console) -> None:
    """The spread of random layouts, or orders beside each other."""
    if isinstance(document, SampleDocument):
        _print_sample(document, console)
    else:
        _print_orders(document, console)


def _print_sample(document: SampleDocument, console: Console) -> None:
    table = text_table(f"{document.count} random layouts, relative to the default layout")
    table.add_column("workload")
    table.add_column("metric")
    for title in ("min", "5 %", "median", "95 %", "max", "mean", "CV"):
        table.add_column(title, justify="right")
    for workload, metrics in document.summary.items():
        for metric in SHOWN:
            if spread := metrics.get(metric):
                figures = (
                    spread.low,
                    spread.percent_5,
                    spread.median,
                    spread.percent_95,
                    spread.high,
                    spread.mean,
                )
                cells = [f"{figure:.4f}" for figure in figures]
                add_texts(table, [workload, metric, *cells, f"{spread.cv_percent:.2f} %"])
    console.print(table)


def _print_orders(document: OrdersDocument, console: Console) -> None:
    for part, orders in document.ratios.items():
        table = text_table(f"relative to the default layout: {part}")
        table.add_column("order")
        for metric in SHOWN:
            table.add_column(metric, justify="right")
        for name, metrics in orders.items():
            cells = (f"{metrics[metric]:.4f}" if metric in metrics else "" for metric in SHOWN)
            add_texts(table, [name, *cells])
        console.print(table)
