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


def test_functions_that_come_first_are_shuffled_alike_whatever_follows() -> None:
    ranks = (frozenset(FUNCTIONS[:300]), frozenset(FUNCTIONS[:310]))
    one = random_order(FUNCTIONS, "7", ranks)
    other = random_order([*FUNCTIONS[:310], "new", "function_400"], "7", ranks)
    assert one[:300] == other[:300] == random_order(ranks[0], "7")
    assert one[300:310] == other[300:310] == random_order(FUNCTIONS[300:310], "7")
    assert set(one[310:]) == set(FUNCTIONS[310:])
    assert sorted(other[310:]) == ["function_400", "new"]


def test_places_are_spread_evenly() -> None:
    """Over 200 seeds the first function stands on average in the middle (5 sigma)."""
    places = [random_order(FUNCTIONS, str(seed)).index("function_0") for seed in range(200)]
    assert abs(sum(places) / 200 - 249.5) < 5 * 144.3 / 200**0.5


def test_an_order_file_must_fit_the_kernel(tmp_path: Path) -> None:
    path = tmp_path / "order"
    path.write_text("function_3\nfunction_1\nunknown\n")
    layout = Layout("profile", str(path))
    assert make_order(layout, FUNCTIONS)[:2] == ["function_3", "function_1"]
    path.write_text("of_another_kernel\n")
    with pytest.raises(UserError, match="names no function"):
        make_order(layout, FUNCTIONS)
    with pytest.raises(UserError, match="cannot read"):
        make_order(Layout("profile", str(tmp_path / "none")), FUNCTIONS)


def test_names_tell_orders_apart() -> None:
    layout = Layout("random", "1")
    assert layout_name(layout, ["a", "b"]) != layout_name(layout, ["b", "a"])


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
