# SPDX-License-Identifier: GPL-2.0-or-later
"""What a layout says to a kernel: the order of its functions, and where its regions begin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kernsmith.kernel.regions import Margin, Region, region_functions, regions_of
from kernsmith.kernel.symbols import Symbol, movable_functions
from kernsmith.layout.order import make_order, random_margins
from kernsmith.layout.places import PADDING_ALIGN, PlacedOrder
from kernsmith.study.layout import Layout


@dataclass(frozen=True)
class Functions:
    """The functions of a kernel that layouts move.

    movable: those that any order may name. drawn: all that a random one names, each once, with
        those inside of regions. regions: see `regions_of`.
    """

    movable: tuple[str, ...]
    drawn: tuple[str, ...]
    regions: tuple[Region, ...]


def functions_of(symbols: Sequence[Symbol]) -> Functions:
    """From a kernel's symbols."""
    regions = regions_of(symbols)
    movable = tuple(movable_functions(symbols))
    inside = region_functions(symbols, regions)
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
    """Margins of several kernels in one layout: behind a region that is shorter than another
    kernel's stands so much that both end at one address.

    kernels: the regions of each.
    """
    sizes = [
        {region.section: -(-region.size // PADDING_ALIGN) * PADDING_ALIGN for region in regions}
        for regions in kernels
    ]
    largest = {name: max(size.get(name, 0) for size in sizes) for size in sizes for name in size}
    before = random_margins((name for name, size in largest.items() if size), seed)
    return [
        {
            name: Margin(before[name].before, largest[name] - size)
            for name, size in own.items()
            if name in before
        }
        for own in sizes
    ]
