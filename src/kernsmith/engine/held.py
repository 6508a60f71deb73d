# SPDX-License-Identifier: GPL-2.0-or-later
"""How true a CPU model is, for documents."""

from __future__ import annotations

from pathlib import Path

from kernsmith.document import HeldView
from kernsmith.machine import Machine
from kernsmith.machine.held import read_held
from kernsmith.study import Study
from kernsmith.study.study import FRONTEND


def held_view(cpu: Path | None) -> HeldView | None:
    """What a CPU model's file says of its truth; None when it says nothing, or there is no file.

    Raises:
        UserError: what it says is not well formed.
    """
    held = read_held(cpu)
    return HeldView(**held.model_dump()) if held else None


def held_in(study: Study, machine: Machine) -> HeldView | None:
    """The same of a study's machine: models were held against processors with the depth `frontend`,
    and of another depth that says nothing.

    Raises:
        UserError: as `held_view`.
    """
    return held_view(machine.cpu if study.depth == FRONTEND else None)
