# SPDX-License-Identifier: GPL-2.0-or-later
"""What a layout says to a kernel: the order of its functions, and where its regions begin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kernsmith.kernel.regions import Margin, Region, regions_of
from kernsmith.kernel.symbols import Symbol, movable_functions
from kernsmith.layout.order import make_order, random_margins
from kernsmith.layout.places import PADDING_ALIGN, PlacedOrder
from kernsmith.study.layout import Layout


@dataclass(frozen=True)
class Functions:
    """The functions of a kernel that layouts move.

    movable: those that any order may name. drawn: all that a random one names, each once, with
        those inside of regions: it sorts the input sections of each region by the first function in
        them, and most objects have one section for all of theirs. regions: see `regions_of`.
    """

    movable: tuple[str, ...]
    drawn: tuple[str, ...]
    regions: tuple[Region, ...]


def functions_of(symbols: Sequence[Symbol]) -> Functions:
    """From a kernel's symbols."""
    regions = regions_of(symbols)
    movable = tuple(movable_functions(symbols))
    inside = [name for region in regions for name in region.functions]
    return Functions(movable, tuple(dict.fromkeys([*movable, *inside])), regions)


def drawn_order(functions: Functions, layout: Layout, named: Sequence[str] = ()) -> PlacedOrder:
    """The order of a kernel in a layout; in a random one, its regions are pushed back and shuffled
    inside, too.

    named: what the layout's order file or profile says of this kernel.
    """
    if not layout.seed:
        return PlacedOrder(tuple(make_order(layout, functions.movable, named)))
    margins = random_margins(
        (region.section for region in functions.regions if region.size), layout.seed
    )
    return PlacedOrder(tuple(make_order(layout, functions.drawn, named)), margins=margins)


def margins_together(kernels: Sequence[Sequence[Region]], seed: str) -> list[dict[str, Margin]]:
    """Margins of several kernels in one layout: beside a region that is shorter than another
    kernel's stands so much more that both end at one address, on the side where it leaves more of
    their common functions at one address.

    kernels: the regions of each.
    """
    largest: dict[str, Region] = {}
    for region in (region for regions in kernels for region in regions):
        known = largest.setdefault(region.section, region)
        largest[region.section] = max(known, region, key=_room)
    before = random_margins((name for name, region in largest.items() if region.size), seed)
    return [
        {
            region.section: _beside(region, largest[region.section], before[region.section])
            for region in regions
            if region.section in before
        }
        for regions in kernels
    ]


def _room(region: Region) -> int:
    """Bytes up to where something else can begin."""
    return -(-region.size // PADDING_ALIGN) * PADDING_ALIGN


def _beside(region: Region, largest: Region, drawn: Margin) -> Margin:
    """The margin of a region where the largest one has the drawn one."""
    missing = _room(largest) - _room(region)
    both = region.functions.keys() & largest.functions.keys()
    moved = [largest.functions[name] - region.functions[name] for name in both]
    if moved.count(missing) > moved.count(0):
        return Margin(drawn.before + missing)
    return Margin(drawn.before, missing)
