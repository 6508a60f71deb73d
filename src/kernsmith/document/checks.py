# SPDX-License-Identifier: GPL-2.0-or-later
"""Replayed layouts that were linked and booted, too: predicted beside measured."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CheckedView:
    """`model_cycles` of one workload, in per cent: error: of the prediction. more: kernel
    instructions that this layout executes beyond those that were traced. error_each: of the
    prediction for each executed instruction.
    """

    workload: str
    predicted: float
    measured: float
    error: float
    more: float = 0.0
    error_each: float | None = None


@dataclass(frozen=True)
class CheckView:
    """A layout that was replayed, and linked and booted, too: `model_cycles`.

    predicted, measured: geometric means over workloads. error: in per cent; None without a boot
        that ended well. more, error_each: as of a workload. limit: how large error_each may be.
        luck: how much of the limit is the luck of a boot; 0 where one boot of each was traced.
        holds: whether it is not larger, and all workloads were booted. note: what of the error no
        replay can know; empty when the layout executes what was traced.
    """

    variant: str
    layout: str
    predicted: float | None
    measured: float | None
    error: float | None
    limit: float
    holds: bool
    workloads: tuple[CheckedView, ...]
    more: float | None = None
    error_each: float | None = None
    note: str = ""
    luck: float = 0.0
