# SPDX-License-Identifier: GPL-2.0-or-later
"""An order is found once, and again where anything of what it comes from is another."""

from pathlib import Path

import pytest

from kernsmith.engine.kept_orders import KeptOrders


def test_an_order_is_found_once_for_the_same(tmp_path: Path) -> None:
    made = []

    def make() -> list[str]:
        made.append(f"f{len(made)}")
        return [made[-1], "__pfx_g"]

    orders = KeptOrders(tmp_path / "orders", ("model", "a.trace"))
    assert orders.order("search", ["1"], make) == ["f0", "__pfx_g"]
    assert orders.order("search", ["1"], make) == ["f0", "__pfx_g"]
    others = [
        orders.order("packed", ["1"], make),
        orders.order("search", ["2"], make),
        KeptOrders(orders.folder, ("model", "b.trace")).order("search", ["1"], make),
    ]
    assert [found[0] for found in others] == ["f1", "f2", "f3"]


def test_of_a_search_that_was_stopped_nothing_is_kept(tmp_path: Path) -> None:
    def stopped() -> list[str]:
        raise KeyboardInterrupt

    orders = KeptOrders(tmp_path, ())
    with pytest.raises(KeyboardInterrupt):
        orders.order("search", [], stopped)
    assert orders.order("search", [], lambda: ["f"]) == ["f"]
