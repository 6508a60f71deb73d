# SPDX-License-Identifier: GPL-2.0-or-later
"""What orders of a kernel's functions cost, replayed from its traces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from kernsmith.document.held import HeldView
from kernsmith.stats.spread import Spread

Costs = Mapping[str, Mapping[str, float]]
"""By workload and metric."""

DEFAULT = "default"
CONFIRMED = "best, linked and booted"


@dataclass(frozen=True)
class LabView:
    """What orders were judged with.

    kernel: its key in the cache; vmlinux: its path. cpu: the model's name.
    blocks: executed blocks in the traces. every: one of so many windows of them was replayed.
    held: how true the model is; None when that is not known.
    """

    kernel: str
    vmlinux: str
    cpu: str
    workloads: tuple[str, ...]
    blocks: int
    every: int
    held: HeldView | None = None


@dataclass(frozen=True)
class LayoutView:
    """layout: the word for it (`random:SEED`). costs: in the units of the metrics."""

    layout: str
    costs: Costs


@dataclass(frozen=True)
class SampleDocument:
    """The distribution of what random layouts cost.

    seconds: what replaying took. summary: by workload (and `overall`) and metric.
    default: what the default layout costs.
    """

    FORMAT: ClassVar[str] = "kernsmith-layouts"
    VERSION: ClassVar[int] = 2

    lab: LabView
    count: int
    seed: int
    seconds: float
    summary: Mapping[str, Mapping[str, Spread]]
    layouts: tuple[LayoutView, ...]
    default: Costs
    report: str = ""


@dataclass(frozen=True)
class Unseen:
    """What workloads cost in orders that were made without them.

    as_is: by order. displaced: by order, with empty lines between the functions in several ways.
    """

    as_is: Mapping[str, Costs]
    displaced: Mapping[str, tuple[Costs, ...]]


@dataclass(frozen=True)
class OrdersDocument:
    """What orders cost beside the default layout.

    ratios: by part (which workloads, how) and order, each metric over the default layout's:
        geometric means over workloads.
    costs: by order. The rest is told by `layout optimize` alone: best: the name of the best order;
    train, test: workloads; floor: what no order can avoid, by workload; measured: what the best
    order, linked and booted, costs; order: path of the best order's
    file.
    """

    FORMAT: ClassVar[str] = "kernsmith-layouts"
    VERSION: ClassVar[int] = 2

    lab: LabView
    ratios: Mapping[str, Mapping[str, Mapping[str, float]]]
    costs: Mapping[str, Costs]
    best: str | None = None
    train: tuple[str, ...] = ()
    test: tuple[str, ...] = ()
    floor: Costs | None = None
    measured: Costs | None = None
    cross_validated: Unseen | None = None
    order: str | None = None
    report: str = ""


LayoutDocument = SampleDocument | OrdersDocument
