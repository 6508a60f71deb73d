# SPDX-License-Identifier: GPL-2.0-or-later
"""Orders that take minutes to find: who is killed behind one of them does not find it again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernsmith.files import write_text
from kernsmith.study import digest_of

_VERSION = 1
"""Changes with how these are asked for."""


@dataclass(frozen=True)
class KeptOrders:
    """Orders of the functions of one kernel or program.

    of: what all of them are made from: traces, the CPU model, and the program that searches.
    """

    folder: Path
    of: tuple[str, ...]

    def order(self, name: str, asked: Sequence[str], make: Callable[[], list[str]]) -> list[str]:
        """An order as it was made before, or made now. asked: what it comes from besides."""
        digest = digest_of([_VERSION, *self.of, *asked])
        file = self.folder / f"{name}-{digest[:16]}.order"
        if not file.exists():
            write_text(file, "".join(f"{symbol}\n" for symbol in make()))
        return file.read_text(encoding="utf-8").splitlines()
