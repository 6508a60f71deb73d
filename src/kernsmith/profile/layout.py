# SPDX-License-Identifier: GPL-2.0-or-later
"""An order of functions that the user brings, made ready for a kernel."""

from __future__ import annotations

from pathlib import Path

from kernsmith.files import write_text
from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.symbols import movable_functions, read_system_map
from kernsmith.layout import read_order


def usable_order(path: Path, kernel: Kernel, target: Path) -> Path:
    """The functions of the kernel that an order file names, in that order.

    Raises:
        UserError: it cannot be read, or is of another kernel.
    """
    read = read_order(path, movable_functions(read_system_map(kernel.system_map)))
    write_text(target, "".join(f"{name}\n" for name in read.symbols))
    return target
