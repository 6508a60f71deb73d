# SPDX-License-Identifier: GPL-2.0-or-later
"""Orders against the default layout of the same build."""

from __future__ import annotations

import pytest

from kernsmith.stats.agreement import Measured
from kernsmith.stats.orders import order_effects


def row(layout: str, cycles: float, apart: float = 0.0, build: str = "O2") -> Measured:
    return Measured("lua", build, layout, cycles, cycles * (1 + apart), cycles * (1 - apart))


ROWS = [
    row("default", 100),
    row("random:1", 110),
    row("shifted:2", 121),
    row("order:c3", 95, 0.01),
    row("default", 80, build="Os"),
    row("random:1", 90, build="Os"),
]


def test_orders_and_then_random_layouts_are_told_against_the_default_one() -> None:
    c3, drawn = order_effects(ROWS)
    assert (c3.group, c3.build, c3.order, c3.bounds) == ("lua", "O2", "c3", None)
    assert c3.ratio == pytest.approx(0.95)
    # Halves of 95.95 and 94.05: a ratio of 1.0202, a point off either way.
    assert c3.noise == pytest.approx(1.0, abs=0.01)
    assert (drawn.order, drawn.noise) == ("random", pytest.approx(0))
    assert drawn.ratio == pytest.approx((1.1 * 1.21) ** 0.5)
    assert drawn.bounds == pytest.approx((1.1, 1.21))
    assert [one.modelled for one in (c3, drawn)] == [None, None]


def test_a_model_tells_its_own_ratio_beside() -> None:
    c3, drawn = order_effects(ROWS, [10.0, 11.0, 11.0, 9.0, 1.0, 1.0])
    assert c3.modelled == pytest.approx(0.9)
    assert drawn.modelled == pytest.approx(1.1)


def test_builds_without_orders_or_without_a_default_layout_are_left_out() -> None:
    assert order_effects(ROWS[4:]) == ()
    assert order_effects(ROWS[1:4]) == ()
