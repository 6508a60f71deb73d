# SPDX-License-Identifier: GPL-2.0-or-later
"""Orders of functions for a layout."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernsmith.errors import UserError
from kernsmith.foreign import read_text
from kernsmith.kernel.regions import Margin
from kernsmith.study.layout import Layout

_SHOWN = 5
_MARGIN_STEP = 16
_LARGEST_MARGIN = 4096


def random_order(functions: Iterable[str], seed: str) -> list[str]:
    """Functions in an order that only the seed decides.

    Each function is placed by a hash of the seed and its own name: two variants shuffle the
    functions that they have in common into the same relative order, so that their layouts of one
    seed are a pair.
    """

    def place(name: str) -> bytes:
        return hashlib.blake2b(f"{seed}\0{name}".encode(), digest_size=16).digest()

    return sorted(functions, key=place)


def random_margins(sections: Iterable[str], seed: str) -> dict[str, Margin]:
    """How far each region's code is pushed back: by up to a page, in steps inside of a line.

    Only the seed and the name of the region's sections decide, so that variants of one layout have
    the same. A page has as many lines as a first-level cache of most CPUs has sets, and in the next
    levels what lies behind the regions is shuffled anyway.
    """

    def drawn(section: str) -> int:
        place = hashlib.blake2b(f"margin:{seed}\0{section}".encode(), digest_size=8).digest()
        return _MARGIN_STEP * (1 + int.from_bytes(place) % (_LARGEST_MARGIN // _MARGIN_STEP))

    return {section: Margin(before=drawn(section)) for section in sections}


def make_order(layout: Layout, functions: Collection[str], named: Sequence[str] = ()) -> list[str]:
    """The functions of a kernel that a layout moves, first to last; none in the default layout.

    named: what the layout's order file or profile says of this kernel.
    """
    known = set(functions)
    first = [name for name in named if name in known]
    if layout.jitter:
        first = _jittered(first, layout.seed, layout.jitter)
    if not layout.seed:
        return first
    others = known.difference(first)
    return [*first, *random_order((n for n in functions if n in others), layout.seed)]


def _jittered(names: Sequence[str], seed: str, places: int) -> list[str]:
    """Each function moved by up to so many places, drawn by a hash of the seed and its name."""

    def place(at: int) -> float:
        drawn = hashlib.blake2b(f"jitter:{seed}\0{names[at]}".encode(), digest_size=8).digest()
        return at + places * (2 * int.from_bytes(drawn) / 2**64 - 1)

    return [names[at] for at in sorted(range(len(names)), key=place)]


@dataclass(frozen=True)
class OrderFile:
    """What an order file says to one kernel.

    symbols: functions of the kernel, first to last, each once.
    unknown: names that the kernel has not got. repeated: names that came again.
    """

    symbols: tuple[str, ...]
    unknown: tuple[str, ...]
    repeated: tuple[str, ...]

    @property
    def remark(self) -> str:
        """What was ignored, in one sentence; empty when nothing was."""
        parts = [
            f"{len(names)} {what} ({', '.join(names[:_SHOWN])}{', …' * (len(names) > _SHOWN)})"
            for what, names in (("unknown", self.unknown), ("repeated", self.repeated))
            if names
        ]
        return f"ignored in the order: {' and '.join(parts)}" if parts else ""


def order_names(path: Path) -> list[str]:
    """The names in an order file: one a line; empty lines and those that begin with # are skipped.

    Raises:
        UserError: it cannot be read, is no text, or has no name in it.
    """
    lines = read_text(path, "the order file").splitlines()
    names = [name for line in lines if (name := line.strip()) and not name.startswith("#")]
    if not names:
        raise UserError(f"the order file {path} names no function")
    return names


def read_order(path: Path, functions: Iterable[str], *, strict: bool = False) -> OrderFile:
    """What an order file says to a kernel with these functions.

    strict: refuse what would be ignored.

    Raises:
        UserError: a file that cannot be read, that names no function of the kernel, of which most
            names are another kernel's, or, when strict, one with unknown or repeated symbols.
    """
    names = order_names(path)
    known = set(functions)
    counted = Counter(names)
    unknown = tuple(name for name in counted if name not in known)
    order = OrderFile(
        symbols=tuple(name for name in counted if name in known),
        unknown=unknown,
        repeated=tuple(name for name, count in counted.items() if count > 1),
    )
    if not order.symbols:
        raise UserError(f"the order file {path} names no function of this kernel")
    if len(unknown) > len(order.symbols):
        raise UserError(
            f"the order file {path} is for another kernel: {len(unknown)} of its {len(counted)} "
            f"names are no functions of this one ({', '.join(unknown[:_SHOWN])}, …)"
        )
    if strict and order.remark:
        raise UserError(f"{path}: {order.remark.replace('ignored', 'refused')}")
    return order


def layout_name(kind: str, order: Sequence[str]) -> str:
    """A word for file names that tells this order from every other one.

    kind: a word for people in front of it.
    """
    digest = hashlib.sha256("\n".join(order).encode()).hexdigest()[:12]
    return f"{kind}-{digest}"
