# SPDX-License-Identifier: GPL-2.0-or-later
"""What commands take where nobody says it, by the machine that they run on."""

from __future__ import annotations

from kernsmith.study.study import UML, Pairing

_USUAL = "lab"


def config_on(machine: str, asked: str) -> str:
    """The config: `lab`, or that of a machine which has one of its own."""
    return asked or (UML if machine == UML else _USUAL)


def workloads_on(machine: str, asked: tuple[str, ...]) -> tuple[str, ...]:
    """The workloads: the set `lab`, or the load that is in a machine's images."""
    return asked or ((UML,) if machine == UML else (_USUAL,))


def pairing_on(machine: str) -> Pairing:
    """How two kernels are compared: at the same places, where layouts can have paddings."""
    return "seed" if machine == UML else "place"
