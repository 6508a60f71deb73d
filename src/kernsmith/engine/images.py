# SPDX-License-Identifier: GPL-2.0-or-later
"""The images of a study: each kernel linked in each of its layouts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Protocol

from kernsmith.engine.build_plan import identity
from kernsmith.engine.events import Events
from kernsmith.engine.failures import Failures
from kernsmith.engine.making import Link, link
from kernsmith.engine.workers import Done, Work, Workers
from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.link import LinkFailed, is_linked, layout_image
from kernsmith.kernel.link_map import link_map, link_map_path, linkers_own_order
from kernsmith.kernel.symbols import Symbol, movable_end, read_system_map
from kernsmith.layout import (
    Functions,
    PlacedOrder,
    Room,
    drawn_order,
    functions_of,
    layout_name,
    margins_together,
    movable_data,
    place_together,
    random_order,
    read_link_map,
    read_order,
    rooms_of,
)
from kernsmith.layout.places import PADDING_ALIGN
from kernsmith.store import local_store
from kernsmith.study import Layout, Trial, Variant
from kernsmith.study.layout import PROFILE

# Behind all functions: what fills up, and what is aligned.
_FILLING, _END = "kernsmith_padding_end", "kernsmith_end"
_PADDED_TO = 64 << 10
# So many bytes may functions take up more or less in one order than in another, by alignment.
_GAPS = 8 << 10
# How the linker sorts calls into a profile's own order: the better of the two that it knows.
_PROFILE_SORT = "cdsort"

Key = tuple[str, Layout]


class Built(Protocol):
    """Where a study's kernels are found."""

    def kernel(self, variant: Variant) -> Kernel | None:
        """The kernel of a variant, if there is one."""
        ...


@dataclass
class Images:
    """Links what is missing and remembers what there is.

    calls: the call graph of a kernel's training, as text, made when it is first wanted.
    by_place: functions that all kernels of the study have in common keep their addresses.
    """

    kernels: Built
    events: Events
    failures: Failures
    calls: Callable[[Kernel], str]
    by_place: bool
    workers: Workers
    made: dict[Key, Path] = field(default_factory=dict)
    _known: _Orders | None = field(default=None, repr=False)

    def image(self, variant: Variant, layout: Layout) -> Path | None:
        """The image of a variant in a layout, if it could be made."""
        return self.made.get((identity(variant), layout))

    def order(self, variant: Variant, layout: Layout) -> Link | None:
        """What would be linked; None when only a link would tell it, or there is no kernel."""
        kernel = self.kernels.kernel(variant)
        if kernel is None or self.by_place:
            return None
        orders = self._orders(())
        return orders.asked(kernel, layout) if orders.knows(kernel, layout) else None

    def find(self, trials: Sequence[Trial]) -> list[tuple[Key, Kernel]]:
        """Take the images that are there; returns those that are not, with their kernels.

        An order that only a link would tell counts as missing.
        """
        orders = self._orders(trials)
        missing: dict[Key, Kernel] = {}
        for trial in trials:
            kernel, key = self.kernels.kernel(trial.variant), self._key(trial)
            if kernel is None or key in self.made or key in missing:
                continue
            image = orders.image(kernel, trial.layout)
            if image is not None and (trial.layout == Layout() or is_linked(image)):
                self.made[key] = image
            else:
                missing[key] = kernel
        return list(missing.items())

    def link(self, trials: Sequence[Trial]) -> None:
        """Link every layout of these trials, several at once."""
        missing = self.find(trials)
        if not missing:
            return
        orders = self._orders(trials)
        for kernel in {kernel.key: kernel for _, kernel in missing}.values():
            orders.prepare(kernel, [key[1] for key, each in missing if each.key == kernel.key])
        self.events.stage(f"link {len(missing)} layouts")
        over = count(1)

        def take(linked: Done[str]) -> None:
            self._linked(missing[linked.place][0], linked)
            self.events.progress("layouts", next(over), len(missing))

        works = (Work(link, (orders.asked(kernel, key[1]),)) for key, kernel in missing)
        self.workers.each(works, take)

    @staticmethod
    def _key(trial: Trial) -> Key:
        return identity(trial.variant), trial.layout

    def _orders(self, trials: Sequence[Trial]) -> _Orders:
        if self._known is None:
            built = {k.key: k for trial in trials if (k := self.kernels.kernel(trial.variant))}
            beside = list(built.values()) if self.by_place else []
            self._known = _Orders(beside, self.calls)
        return self._known

    def _linked(self, key: Key, linked: Done[str]) -> None:
        try:
            self.made[key] = local_store().path(linked.result())
        except LinkFailed as error:
            self.failures.note((key[0], str(key[1])), error)
            self.events.note(f"the layout {key[1]} is left out: {error}")


class _Orders:
    """Orders of kernels' functions, each made once: an order file is read at one moment.

    beside: kernels whose common functions lie at one address in each random layout.
    """

    def __init__(self, beside: Sequence[Kernel], calls: Callable[[Kernel], str]) -> None:
        self._beside = beside
        self._calls = calls
        self._symbols: dict[str, list[Symbol]] = {}
        self._functions: dict[str, Functions] = {}
        self._data: dict[str, list[str]] = {}
        self._rooms: dict[str, tuple[dict[str, Room], int]] = {}
        self._named: dict[tuple[str, str], list[str]] = {}
        self._made: dict[tuple[str, Layout], PlacedOrder] = {}
        self._called: dict[tuple[str, Layout], str] = {}

    def prepare(self, kernel: Kernel, layouts: Sequence[Layout]) -> None:
        """Make what several layouts of a kernel share, before they are linked side by side."""
        for layout in layouts:
            self._order(kernel, layout)

    def image(self, kernel: Kernel, layout: Layout) -> Path | None:
        """Where the image is or will be; None when that is not known without linking."""
        if layout == Layout():
            return kernel.vmlinux
        if not self.knows(kernel, layout):
            return None
        return layout_image(kernel, self._name(kernel, layout))

    def knows(self, kernel: Kernel, layout: Layout) -> bool:
        """Whether a layout's order is known without linking."""
        if layout.named == PROFILE and (kernel.key, PROFILE) not in self._named:
            return False
        needed = [*(self._beside if self._is_placed(layout) else ()), *([kernel] * layout.data)]
        return all(link_map_path(each).exists() for each in needed)

    def asked(self, kernel: Kernel, layout: Layout) -> Link:
        """What is to be linked."""
        return Link(kernel.key, self._name(kernel, layout), self._order(kernel, layout))

    def _name(self, kernel: Kernel, layout: Layout) -> str:
        key = (kernel.key, layout)
        if key not in self._called:
            words = self._order(kernel, layout).words
            self._called[key] = layout_name("random" if layout.seed else "order", words)
        return self._called[key]

    def _order(self, kernel: Kernel, layout: Layout) -> PlacedOrder:
        if (kernel.key, layout) not in self._made:
            if self._is_placed(layout):
                self._place(layout)
            else:
                named = self._names(kernel, layout.named) if layout.named else self._kept(kernel)
                order = drawn_order(self._functions_of(kernel), layout, named)
                self._made[kernel.key, layout] = self._with_data(kernel, layout, order)
        return self._made[kernel.key, layout]

    def _is_placed(self, layout: Layout) -> bool:
        return bool(self._beside and layout.seed and not layout.named)

    def _place(self, layout: Layout) -> None:
        """The random layout of all kernels at once, with the regions behind them at one address."""
        found = [self._rooms_of(kernel) for kernel in self._beside]
        start = max(start for _, start in found)
        placed = place_together([rooms for rooms, _ in found], layout.seed, start)
        ends = [
            movable_end(self._symbols_of(kernel)) + sum(order.paddings.values())
            for kernel, order in zip(self._beside, placed, strict=True)
        ]
        # Rounded up, so that a kernel has the same padding beside most of its neighbours. Where
        # its functions end is known but for their gaps; the linker's alignment takes up the rest.
        behind = -(-(max(ends) + _GAPS) // _PADDED_TO) * _PADDED_TO
        regions = [self._functions_of(kernel).regions for kernel in self._beside]
        margins = margins_together(regions, layout.seed)
        for kernel, order, end, edges in zip(self._beside, placed, ends, margins, strict=True):
            others = set(self._functions_of(kernel).drawn).difference(order.names)
            names = [*order.names, *random_order(others, layout.seed)]
            missing = behind - _PADDED_TO // 2 - end
            last = ({_FILLING: missing} if missing > 0 else {}) | {_END: PADDING_ALIGN}
            whole = PlacedOrder(
                (*names, *last), {**order.paddings, **last}, edges, {_END: _PADDED_TO}
            )
            self._made[kernel.key, layout] = self._with_data(kernel, layout, whole)

    def _with_data(self, kernel: Kernel, layout: Layout, order: PlacedOrder) -> PlacedOrder:
        """The order with that of the objects' data behind it, if the layout shuffles them."""
        if not layout.data:
            return order
        if kernel.key not in self._data:
            self._data[kernel.key] = movable_data(link_map(kernel))
        data = random_order(self._data[kernel.key], layout.seed)
        return replace(order, names=(*order.names, *data))

    def _names(self, kernel: Kernel, named: str) -> list[str]:
        """The functions that an order file or the kernel's own profile names."""
        key = (kernel.key, named)
        if key not in self._named:
            functions = self._functions_of(kernel).movable
            if named == PROFILE:
                path = linkers_own_order(kernel, self._calls(kernel), _PROFILE_SORT)
                self._named[key] = read_link_map(path).in_order(functions)
            else:
                self._named[key] = list(read_order(Path(named), functions).symbols)
        return self._named[key]

    @staticmethod
    def _kept(kernel: Kernel) -> Sequence[str]:
        """What random layouts leave in its order: that of a kernel which is nothing but an order
        of another's functions."""
        return kernel.order if kernel.provenance.get("reordered") else ()

    def _rooms_of(self, kernel: Kernel) -> tuple[dict[str, Room], int]:
        if kernel.key not in self._rooms:
            movable = self._functions_of(kernel).movable
            self._rooms[kernel.key] = rooms_of(read_link_map(link_map(kernel)), movable)
        return self._rooms[kernel.key]

    def _functions_of(self, kernel: Kernel) -> Functions:
        if kernel.key not in self._functions:
            self._functions[kernel.key] = functions_of(self._symbols_of(kernel))
        return self._functions[kernel.key]

    def _symbols_of(self, kernel: Kernel) -> list[Symbol]:
        if kernel.key not in self._symbols:
            self._symbols[kernel.key] = read_system_map(kernel.system_map)
        return self._symbols[kernel.key]
