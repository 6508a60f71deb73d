# SPDX-License-Identifier: GPL-2.0-or-later
"""How true a CPU model is, for documents."""

from __future__ import annotations

from pathlib import Path

from kernsmith.document import HeldView
from kernsmith.machine.held import read_held


def held_view(cpu: Path | None) -> HeldView | None:
    """What a CPU model's file says of its truth; None when it says nothing, or there is no file.

    Raises:
        UserError: what it says is not well formed.
    """
    held = read_held(cpu)
    return HeldView(**held.model_dump()) if held else None
