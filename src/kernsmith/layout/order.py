# SPDX-License-Identifier: GPL-2.0-or-later
"""Orders of functions for a layout."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable
from pathlib import Path

from kernsmith.errors import UserError
from kernsmith.study.plan import Layout


def random_order(
    functions: Iterable[str], seed: str, first: Collection[str] = frozenset()
) -> list[str]:
    """Functions in an order that only the seed decides.

    Each function is placed by a hash of the seed and its own name: two variants shuffle the
    functions that they have in common into the same relative order, so that their layouts of one
    seed are a pair.

    first: functions that come before all others. Where these are equally long in two variants,
        they lie at the same addresses in both: what is left of a difference is the change itself.
    """

    def place(name: str) -> tuple[bool, bytes]:
        drawn = hashlib.blake2b(f"{seed}\0{name}".encode(), digest_size=16).digest()
        return name not in first, drawn

    return sorted(functions, key=place)


def make_order(
    layout: Layout, functions: Iterable[str], first: Collection[str] = frozenset()
) -> list[str]:
    """The order file's content for a layout that is not the default one.

    first: functions that a random layout places before all others.

    Raises:
        UserError: an order file that cannot be read or names no function.
    """
    if layout.kind == "random":
        return random_order(functions, layout.argument, first)
    try:
        lines = Path(layout.argument).read_text(encoding="utf-8").split()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read the order file {layout.argument}: {error}") from None
    if not set(lines) & set(functions):
        raise UserError(f"the order file {layout.argument} names no function of this kernel")
    return lines


def layout_name(layout: Layout, order: list[str]) -> str:
    """A word for file names that tells this order from every other one."""
    digest = hashlib.sha256("\n".join(order).encode()).hexdigest()[:12]
    return f"{layout.kind}-{digest}"
