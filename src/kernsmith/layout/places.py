# SPDX-License-Identifier: GPL-2.0-or-later
"""Random orders of several kernels in which all that is the same in them lies at one address.

The functions of all kernels are shuffled together. Where they differ (another length or alignment,
or a kernel without the function) each kernel gets as much padding behind the function that what
follows begins at one address in all: what a layout then tells is the change, and the place of the
change is drawn like every other.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from kernsmith.kernel.regions import Margin
from kernsmith.layout.linkmap import InputSection, Text
from kernsmith.layout.order import random_order

PADDING_ALIGN = 16
"""Of the sections that padding consists of; functions of a kernel are aligned no less."""


@dataclass(frozen=True)
class Room:
    """What a function takes up: size and alignment in bytes."""

    size: int
    align: int


@dataclass(frozen=True)
class PlacedOrder:
    """A kernel's functions and paddings, first to last.

    paddings: their sizes in bytes, by name. margins: of regions, by the names of their sections.
    alignments: of paddings that are aligned to more than `PADDING_ALIGN`.
    """

    names: tuple[str, ...]
    paddings: Mapping[str, int] = field(default_factory=dict)
    margins: Mapping[str, Margin] = field(default_factory=dict)
    alignments: Mapping[str, int] = field(default_factory=dict)

    @property
    def words(self) -> list[str]:
        """All that tells it from other orders."""
        sizes = [f"{name}={size}" for name, size in self.paddings.items()]
        edges = [f"{name}={one.before}+{one.behind}" for name, one in self.margins.items()]
        aligned = [f"{name}@{align}" for name, align in self.alignments.items()]
        return [*self.names, *sizes, *edges, *aligned]


def rooms_of(text: Text, movable: Collection[str]) -> tuple[dict[str, Room], int]:
    """The rooms of the functions that can be placed, and where the first of them lies.

    That are those with a section and a name of their own: names that several static functions
    share are ordered by the linker as it likes. Only of the sections between which padding can
    stand: the linker script's group of ordinary text, not of hot or unlikely.
    """
    allowed = set(movable)
    sections: dict[str, list[InputSection]] = {}
    for section in text.sections:
        for name in section.symbols:
            sections.setdefault(name, []).append(section)
    single = {
        name: found[0]
        for name, found in sections.items()
        if name in allowed and len(found) == 1 and name == found[0].symbols[0]
        if found[0].name == f".text.{name}"
    }
    rooms = {name: Room(section.size, section.align) for name, section in single.items()}
    return rooms, min((section.start for section in single.values()), default=text.start)


def place_together(
    kernels: Sequence[Mapping[str, Room]], seed: str, start: int
) -> list[PlacedOrder]:
    """One order for each of these kernels.

    kernels: the movable functions of each, by name.
    start: the address at which the first one comes to lie.
    """
    everywhere: dict[str, None] = {}
    for rooms in kernels:
        everywhere |= dict.fromkeys(rooms)
    orders: list[list[str]] = [[] for _ in kernels]
    paddings: list[dict[str, int]] = [{} for _ in kernels]
    cursor = start
    for name in random_order(everywhere, seed):
        found = [rooms.get(name) for rooms in kernels]
        ends = [_end(cursor, room) for room in found]
        for order, room in zip(orders, found, strict=True):
            order += [name] if room else []
        if len(set(found)) == 1:
            cursor = ends[0]
            continue
        behind = [_aligned(end, PADDING_ALIGN) for end in ends]
        cursor = max(behind)
        for order, added, end in zip(orders, paddings, behind, strict=True):
            if end < cursor:
                padding = f"kernsmith_padding_{len(added)}"
                added[padding] = cursor - end
                order.append(padding)
    return [PlacedOrder(tuple(o), p) for o, p in zip(orders, paddings, strict=True)]


def _end(cursor: int, room: Room | None) -> int:
    return cursor if room is None else _aligned(cursor, room.align) + room.size


def _aligned(address: int, align: int) -> int:
    return -(-address // align) * align
