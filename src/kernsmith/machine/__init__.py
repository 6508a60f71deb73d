# SPDX-License-Identifier: GPL-2.0-or-later
"""Boot a kernel, run a workload, return metrics. Each machine is a module with `open_machine`."""

from __future__ import annotations

import importlib
import pkgutil

from kernsmith.errors import UserError
from kernsmith.machine.protocol import Boot, Machine, Outcome

__all__ = ["Boot", "Machine", "Outcome", "find_machine"]


def find_machine(name: str, cpu: str) -> Machine:
    """The machine of this name; `cpu` is the CPU model where it simulates one.

    Raises:
        UserError: no such machine or CPU model; the message lists what there is.
    """
    known = []
    for found in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{found.name}")
        if hasattr(module, "open_machine"):
            known.append(module.NAME)
            if name == module.NAME:
                machine: Machine = module.open_machine(cpu)
                return machine
    raise UserError(f"there is no machine {name!r}: allowed are {', '.join(sorted(known))}")
