# SPDX-License-Identifier: GPL-2.0-or-later
"""Branch counts → Propeller's profiles in which executed blocks keep the compiler's order."""

from __future__ import annotations

from kernsmith.profile.propeller import KEPT, maker

MAKER = maker(KEPT)
