# SPDX-License-Identifier: GPL-2.0-or-later
"""What each workload of a study asks of the kernel."""

from __future__ import annotations

from dataclasses import dataclass

from kernsmith.document.hottest import HotFunctionView


@dataclass(frozen=True)
class StressView:
    """A workload on the baseline's kernel.

    kernel_share: of the region's instructions, those in kernel mode, from 0 to 1; None where the
        machine does not count both.
    spread: from the lowest to the highest random layout, in per cent of their geometric mean, of
        the study's own metric; None for fewer than two layouts. Where these are dealt out to
        several boots, it holds the luck of the boots, too.
    functions: the kernel's hottest, by instructions of a trace, or else by bytes of the training;
        empty where that kernel was neither traced in the model nor trained on the workload.
    per_operation: the study's own metric for one operation of the workload (`WorkloadView`),
        geometric mean over all layouts; None where it was not measured, or is what the workload
        tells itself.
    spread_of_boots: from the boot in which the kernel executes fewest instructions to that in which
        it executes most, in per cent of their geometric mean; None where all layouts are replayed
        from one boot, or each has its own.
    """

    workload: str
    kernel_share: float | None
    spread: float | None
    functions: tuple[HotFunctionView, ...]
    per_operation: float | None = None
    spread_of_boots: float | None = None
