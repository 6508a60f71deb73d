# SPDX-License-Identifier: GPL-2.0-or-later
"""A flame graph of the difference between two kernels, as SVG: callers above what they call.

Places are in per cent of the width, so that it is as wide as the page while its letters keep their
size; what is too long for its function is cut off by the function's own `svg` element.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import sqrt

from markupsafe import Markup

from kernsmith.document import FlameView

_ROW = 17
"""Pixels from one row to the next."""
_NARROWEST = 0.05
"""Per cent of the width below which nothing is drawn."""
_FAINTEST = 0.15
_CELL = Markup(
    '<svg x="{x:.3f}%" y="{y}" width="{width:.3f}%" height="{height}" data-x="{x:.3f}" '
    'data-width="{width:.3f}"><title>{title}</title>'
    '<rect width="100%" height="100%" class="{kind}" fill-opacity="{opacity:.2f}"/>'
    '<text x="3" y="12">{name}</text></svg>'
)
_GRAPH = Markup('<svg class="flame" xmlns="http://www.w3.org/2000/svg" height="{}">{}</svg>')

Pair = tuple[float, float]


@dataclass
class _Cell:
    """A function in a stack. own, whole: cycles of baseline and variant, without and with what is
    below it."""

    name: str
    own: Pair
    whole: Pair
    below: list[_Cell]


def flame_svg(view: FlameView, side: int) -> Markup:
    """Functions are as wide as their share of all cycles of one kernel; red: more in the variant,
    blue: less, the stronger the larger the change is.

    side: 0 for the widths of the baseline, 1 for those of the variant.
    """
    root = _tree(view)
    changes = [abs(cell.whole[1] - cell.whole[0]) for cell in _all(root.below)]
    scale = _Scale(root.whole, max(changes, default=0.0), side)
    cells = list(_drawn(root, scale, 0.0, 0))
    rows = max(row for row, _ in cells) + 1
    return _GRAPH.format(rows * _ROW, Markup("").join(cell for _, cell in cells))


@dataclass(frozen=True)
class _Scale:
    """whole: cycles of both kernels. most: the largest change of a function."""

    whole: Pair
    most: float
    side: int

    def width(self, cell: _Cell) -> float:
        """In per cent of the graph's."""
        return 100 * cell.whole[self.side] / self.whole[self.side] if self.whole[self.side] else 0

    def opacity(self, cell: _Cell) -> float:
        change = abs(cell.whole[1] - cell.whole[0])
        return max(_FAINTEST, min(1.0, 0.9 * sqrt(change / self.most))) if self.most else _FAINTEST


def _tree(view: FlameView) -> _Cell:
    root = _Cell("all", (0, 0), (0, 0), [])
    cells: list[_Cell] = []
    for node in view.nodes:
        cell = _Cell(node.name, node.model_cycles, node.model_cycles, [])
        (root if node.parent is None else cells[node.parent]).below.append(cell)
        cells.append(cell)
    for node, cell in zip(reversed(view.nodes), reversed(cells), strict=True):
        above = root if node.parent is None else cells[node.parent]
        above.whole = (above.whole[0] + cell.whole[0], above.whole[1] + cell.whole[1])
    return root


def _all(cells: Sequence[_Cell]) -> Iterator[_Cell]:
    for cell in cells:
        yield cell
        yield from _all(cell.below)


def _drawn(cell: _Cell, scale: _Scale, x: float, row: int) -> Iterator[tuple[int, Markup]]:
    """Rows and elements: a function, and behind its beginning what it calls, by name."""
    yield row, _element(cell, scale, x, row)
    for below in sorted(cell.below, key=lambda one: one.name):
        width = scale.width(below)
        if width >= _NARROWEST:
            yield from _drawn(below, scale, x, row + 1)
        x += width


def _element(cell: _Cell, scale: _Scale, x: float, row: int) -> Markup:
    change = cell.whole[1] - cell.whole[0]
    return _CELL.format(
        x=x,
        y=row * _ROW,
        width=scale.width(cell),
        height=_ROW,
        title=_title(cell, scale.whole[0]),
        kind="same" if not change else "more" if change > 0 else "less",
        opacity=scale.opacity(cell),
        name=cell.name,
    )


def _title(cell: _Cell, whole: float) -> str:
    """Figures in per cent of the baseline's cycles."""

    def told(pair: Pair) -> str:
        before, after = (100 * figure / whole if whole else 0.0 for figure in pair)
        return f"{before:.2f} % → {after:.2f} % ({after - before:+.2f})".replace("-", "−")

    own = f"; without what it calls {told(cell.own)}" if cell.below and any(cell.own) else ""
    return f"{cell.name}: {told(cell.whole)}{own}"
