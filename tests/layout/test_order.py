# SPDX-License-Identifier: GPL-2.0-or-later
"""Random orders: permutations that a seed decides, paired between kernels."""

from pathlib import Path

import pytest

from kernsmith.errors import UserError
from kernsmith.layout import layout_name, make_order, random_order, read_order
from kernsmith.study import Layout

FUNCTIONS = [f"function_{i}" for i in range(500)]


def test_an_order_is_a_permutation_that_the_seed_decides() -> None:
    order = random_order(FUNCTIONS, "1.1")
    assert sorted(order) == sorted(FUNCTIONS)
    assert order == random_order(reversed(FUNCTIONS), "1.1")
    assert order != random_order(FUNCTIONS, "1.2")


def test_kernels_with_common_functions_are_shuffled_alike() -> None:
    common = FUNCTIONS[100:]
    first = [name for name in random_order(FUNCTIONS, "7") if name in common]
    assert first == random_order(common, "7")


def test_places_are_spread_evenly() -> None:
    """Over 200 seeds the first function stands on average in the middle (5 sigma)."""
    places = [random_order(FUNCTIONS, str(seed)).index("function_0") for seed in range(200)]
    assert abs(sum(places) / 200 - 249.5) < 5 * 144.3 / 200**0.5


def test_what_is_not_named_is_left_alone_or_shuffled() -> None:
    named = ["function_3", "of_another_kernel", "function_1"]
    assert make_order(Layout("an.order"), FUNCTIONS, named) == ["function_3", "function_1"]
    shuffled = make_order(Layout("an.order", seed="7"), FUNCTIONS, named)
    assert shuffled[:2] == ["function_3", "function_1"]
    others = [name for name in FUNCTIONS if name not in named]
    assert shuffled[2:] == random_order(others, "7") != others
    assert make_order(Layout(seed="7"), FUNCTIONS) == random_order(FUNCTIONS, "7")
    assert make_order(Layout(), FUNCTIONS) == []


def test_jitter_moves_what_is_named_by_so_many_places() -> None:
    def places(jitter: int, seed: str) -> list[int]:
        order = make_order(Layout("an.order", seed, jitter), FUNCTIONS, FUNCTIONS)
        assert sorted(order) == sorted(FUNCTIONS)
        return [order.index(name) for name in FUNCTIONS]

    still = list(range(len(FUNCTIONS)))
    moved = [abs(at - place) for at, place in enumerate(places(8, "1"))]
    assert 0 < max(moved) <= 2 * 8
    assert sum(moved) > len(moved)
    assert places(8, "1") == places(8, "1") != places(8, "2")
    assert places(0, "1") == still


def test_names_tell_orders_apart() -> None:
    assert layout_name("random", ["a", "b"]) != layout_name("random", ["b", "a"])


def test_what_an_order_file_says_too_much_is_told(tmp_path: Path) -> None:
    path = tmp_path / "order"
    path.write_text("# best\nfunction_3\n\nfunction_1\nfunction_3\nnowhere\n")
    order = read_order(path, FUNCTIONS)
    assert order.symbols == ("function_3", "function_1")
    assert order.remark == "ignored in the order: 1 unknown (nowhere) and 1 repeated (function_3)"
    with pytest.raises(UserError, match="refused in the order: 1 unknown"):
        read_order(path, FUNCTIONS, strict=True)


def test_an_order_for_another_kernel_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "order"
    path.write_text("\n".join(["function_3", *(f"other_{i}" for i in range(9))]))
    with pytest.raises(UserError, match="is for another kernel: 9 of its 10 names"):
        read_order(path, FUNCTIONS)
    with pytest.raises(UserError, match="cannot read the order file"):
        read_order(tmp_path / "missing", FUNCTIONS)
