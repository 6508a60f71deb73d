# SPDX-License-Identifier: GPL-2.0-or-later
"""Architectures. Each module here with a constant `ARCH` is one.

A new architecture brings, in Python, one file beside `x86_64.py` whose `ARCH` has all fields of
`Arch`, and what these name:

- kbuild's words, and the images that a kernel is built to (`kbuild`, `srctree`, `image`);
- a QEMU machine that runs it without noise, and the words it is booted with (`qemu`, `boot`);
- the compilers' triple, the flags of kernel files, and the word below all `-march=` (`target`);
- the registers that a kernel keeps for user space (`registers`);
- a guest program for that processor, and config fragments whose symbols it has.

In Rust it brings an implementation of the trait that decodes its instructions. What only one
architecture has is not here: the catalogue of `kernsmith.kernel.cpu`, and what `kernsmith.doctor`
looks for in processors, with the guest of its KVM probe, are x86-64's own.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from kernsmith.arch.arch import Arch, BootWords, Qemu, Registers, Target
from kernsmith.errors import UserError
from kernsmith.study.variant import ARCH as DEFAULT

__all__ = [
    "DEFAULT",
    "Arch",
    "BootWords",
    "Qemu",
    "Registers",
    "Target",
    "architectures",
    "find_arch",
]


@cache
def architectures() -> dict[str, Arch]:
    """All architectures by their names, sorted."""
    found = {}
    for module in pkgutil.iter_modules(__path__):
        arch = getattr(importlib.import_module(f"{__name__}.{module.name}"), "ARCH", None)
        if isinstance(arch, Arch):
            found[arch.name] = arch
    return dict(sorted(found.items()))


def find_arch(name: str = DEFAULT) -> Arch:
    """The architecture of this name.

    Raises:
        UserError: there is none; the message lists those that there are.
    """
    if (found := architectures().get(name)) is None:
        known = ", ".join(architectures())
        raise UserError(f"there is no architecture {name!r}: allowed are {known}")
    return found
