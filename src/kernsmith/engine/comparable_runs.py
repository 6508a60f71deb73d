# SPDX-License-Identifier: GPL-2.0-or-later
"""Which runs of the ledger kernels are compared by, and which are left out.

Words that name a program by its folder (`./x`) are another program in another folder, and a command
that fails at once is no faster kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kernsmith.ledger.measured import MeasuredRun


@dataclass(frozen=True)
class LeftOut:
    """Runs of a command on a kernel that speak against a comparison.

    failed: the command ended with an error; left out. elsewhere: in another folder; left out.
    unknown: the ledger does not say in which folder; compared all the same.
    """

    command: str
    kernel: str
    failed: int
    elsewhere: int
    unknown: int


def is_comparable(run: MeasuredRun, folder: str) -> bool:
    """Whether it ended well, and in this folder as far as the ledger says."""
    return run.exit_code == 0 and run.folder in ("", folder)


def left_out(runs: Sequence[MeasuredRun], folder: str) -> tuple[LeftOut, ...]:
    """By command and kernel, where there are such runs."""
    found: dict[tuple[str, str], list[MeasuredRun]] = {}
    for run in runs:
        found.setdefault((run.workload, run.name), []).append(run)
    counted = [_counted(*of, runs, folder) for of, runs in found.items()]
    return tuple(each for each in counted if each.failed or each.elsewhere or each.unknown)


def _counted(command: str, kernel: str, runs: Sequence[MeasuredRun], folder: str) -> LeftOut:
    well = [run for run in runs if run.exit_code == 0]
    return LeftOut(
        command,
        kernel,
        failed=len(runs) - len(well),
        elsewhere=sum(run.folder not in ("", folder) for run in well),
        unknown=sum(not run.folder for run in well),
    )
