# SPDX-License-Identifier: GPL-2.0-or-later
"""The functions that a study's training spent its time in."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class HotFunctionView:
    """share: of all bytes of code that were executed, or of all instructions. entered: branches to
    its first byte; None where they were not counted."""

    name: str
    share: float
    entered: int | None


@dataclass(frozen=True)
class HottestView:
    """Of the kernel that was trained on, under all workloads of the training.

    build_id: of that kernel. counts: path of the counts. ran: how many functions did.
    functions: the hottest of them.
    """

    build_id: str
    workloads: tuple[str, ...]
    counts: str
    ran: int
    functions: tuple[HotFunctionView, ...]
