# SPDX-License-Identifier: GPL-2.0-or-later
"""Stacks of functions in two kernels, over all workloads: for a flame graph of their difference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from kernsmith.document import FlameNodeView, FlameView
from kernsmith.engine.function_costs import Stacks

LEAST = 1e-3
"""Share of the baseline's cycles below which a function is not told apart."""
_SCALE = 1000
"""Files of stacks have whole numbers: cycles for each 10^9 instructions."""


@dataclass
class _Function:
    """own: cycles without what is below it, of the baseline and of the variant."""

    own: list[float] = field(default_factory=lambda: [0.0, 0.0])
    below: dict[str, _Function] = field(default_factory=dict)

    def function(self, name: str) -> _Function:
        """The one of this name below it."""
        return self.below.setdefault(name, _Function())

    def whole(self, side: int) -> float:
        """Its cycles with all that is below it."""
        return self.own[side] + sum(each.whole(side) for each in self.below.values())

    def pruned(self, least: float) -> _Function:
        """Without functions that take less than so many cycles in both kernels."""
        found = _Function(list(self.own))
        for name, each in self.below.items():
            whole = (each.whole(0), each.whole(1))
            if max(whole) >= least:
                found.below[name] = each.pruned(least)
            else:
                found.own = [own + more for own, more in zip(found.own, whole, strict=True)]
        return found


def flame_view(
    base: Sequence[Stacks], other: Sequence[Stacks], weights: Sequence[float]
) -> FlameView:
    """Of the baseline and a variant; both by workload, each with its weight."""
    merged = _merged(base, other, weights)
    pruned = merged.pruned(LEAST * merged.whole(0))
    lost = max(each.lost / max(1, each.returns) for each in (*base, *other))
    return FlameView(nodes=tuple(_nodes(pruned)), lost=lost)


def folded(base: Sequence[Stacks], other: Sequence[Stacks], weights: Sequence[float]) -> str:
    """One stack a line, `function;function;function BASELINE VARIANT`: what difffolded.pl writes,
    and flamegraph.pl and inferno-flamegraph read (github.com/brendangregg/FlameGraph)."""
    lines = []
    open_: list[tuple[str, _Function]] = [("", _merged(base, other, weights))]
    while open_:
        path, one = open_.pop()
        own = [round(_SCALE * figure) for figure in one.own]
        if path and any(own):
            lines.append(f"{path} {own[0]} {own[1]}\n")
        head = f"{path};" if path else ""
        open_ += [(f"{head}{_plain(name)}", each) for name, each in one.below.items()]
    return "".join(sorted(lines))


def _plain(name: str) -> str:
    """A name in a stack's line: these have a meaning there."""
    return name.replace(";", ":").replace(" ", "_")


def _merged(base: Sequence[Stacks], other: Sequence[Stacks], weights: Sequence[float]) -> _Function:
    root = _Function()
    for side, found in enumerate((base, other)):
        for of_workload, weight in zip(found, weights, strict=True):
            places: list[_Function] = []
            for node in of_workload.nodes:
                parent = root if node.parent is None else places[node.parent]
                place = parent.function(node.function)
                place.own[side] += weight * node.cycles
                places.append(place)
    return root


def _nodes(root: _Function) -> Iterator[FlameNodeView]:
    """Callers before what they call; by name."""
    count = 0
    open_: list[tuple[int | None, str, _Function]] = []

    def add(parent: int | None, one: _Function) -> None:
        for name in sorted(one.below, reverse=True):
            open_.append((parent, name, one.below[name]))

    add(None, root)
    while open_:
        parent, name, one = open_.pop()
        yield FlameNodeView(parent, name, (one.own[0], one.own[1]))
        add(count, one)
        count += 1
