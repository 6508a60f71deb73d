# SPDX-License-Identifier: GPL-2.0-or-later
"""Orders of functions for a layout."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from kernsmith.errors import UserError
from kernsmith.study.plan import Layout

Ranks = Sequence[Collection[str]]
"""Functions that come first, those that come behind them, and so on."""


def random_order(functions: Iterable[str], seed: str, ranks: Ranks = ()) -> list[str]:
    """Functions in an order that only the seed decides.

    Each function is placed by a hash of the seed and its own name: two variants shuffle the
    functions that they have in common into the same relative order, so that their layouts of one
    seed are a pair.

    ranks: shuffled one after the other; functions that are in none of them come last. Where
        those of the first rank are equally long in two variants, they lie at the same addresses
        in both: what is left of a difference is the change itself.
    """

    def place(name: str) -> tuple[int, bytes]:
        drawn = hashlib.blake2b(f"{seed}\0{name}".encode(), digest_size=16).digest()
        rank = next((i for i, names in enumerate(ranks) if name in names), len(ranks))
        return rank, drawn

    return sorted(functions, key=place)


def make_order(layout: Layout, functions: Iterable[str], ranks: Ranks = ()) -> list[str]:
    """The order file's content for a layout that is not the default one.

    ranks: of a random layout (see `random_order`).

    Raises:
        UserError: an order file that cannot be read or names no function.
    """
    if layout.kind == "random":
        return random_order(functions, layout.argument, ranks)
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
