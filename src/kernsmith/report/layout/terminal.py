# SPDX-License-Identifier: GPL-2.0-or-later
"""Layouts in the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

SHOWN = ("model_cycles", "l1i_misses", "l2i_misses", "itlb_misses", "branch_mispredictions")
_QUANTILES = (("min", 0), ("5 %", 5), ("median", 50), ("95 %", 95), ("max", 100))


def distribution(values: Sequence[float]) -> dict[str, float]:
    """Of figures relative to the default layout's: mean, SD, CV in per cent, and quantiles."""
    mean, sd = float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    found = {"n": float(len(values)), "mean": mean, "sd": sd, "cv_percent": 100 * sd / mean}
    return found | {name: float(np.percentile(values, at)) for name, at in _QUANTILES}


def print_distribution(document: Mapping[str, Any], console: Console) -> None:
    """The spread of random layouts (see `cli.layout.sample`)."""
    table = Table(title=f"{document['count']} random layouts, relative to the default layout")
    for title in ("workload", "metric", *(name for name, _ in _QUANTILES), "mean", "CV"):
        table.add_column(title, justify="left" if title in ("workload", "metric") else "right")
    for workload, metrics in document["summary"].items():
        for metric in SHOWN:
            if metric in metrics:
                found = metrics[metric]
                row = [f"{found[name]:.4f}" for name, _ in _QUANTILES]
                cv = f"{found['cv_percent']:.2f} %"
                table.add_row(workload, metric, *row, f"{found['mean']:.4f}", cv)
    console.print(table)


def print_orders(document: Mapping[str, Any], console: Console) -> None:
    """Orders beside each other (see `cli.layout.evaluate` and `optimize`)."""
    for part, orders in document["ratios"].items():
        table = Table(title=f"relative to the default layout: {part}")
        table.add_column("order")
        for metric in SHOWN:
            table.add_column(metric, justify="right")
        for name, metrics in orders.items():
            table.add_row(
                name, *(f"{metrics[metric]:.4f}" if metric in metrics else "" for metric in SHOWN)
            )
        console.print(table)
