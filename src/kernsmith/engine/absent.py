# SPDX-License-Identifier: GPL-2.0-or-later
"""What a machine could not measure in the runs of a study, and why."""

from __future__ import annotations

from collections.abc import Sequence

from kernsmith.engine.verdicts import Measured
from kernsmith.machine.metrics import in_order

ABSENT = "absent"
"""The key of a run's provenance: by the name of a metric, why there is none of it."""


def not_measured(measured: Sequence[Measured]) -> tuple[str, ...]:
    """A sentence a reason, with the metrics that it keeps away."""
    reasons: dict[str, set[str]] = {}
    for item in measured:
        told = item.run.provenance.get(ABSENT) if item.run is not None else None
        for name, why in (told or {}).items():
            reasons.setdefault(why, set()).add(name)
    return tuple(
        f"not measured: {', '.join(in_order(names))}: {why}" for why, names in reasons.items()
    )
