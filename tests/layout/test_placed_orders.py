# SPDX-License-Identifier: GPL-2.0-or-later
"""What is the same in two kernels lies at one address in both; what differs lies anywhere."""

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from kernsmith.layout import PlacedOrder, Room, place_together, random_order

START = 0xFFFFFFFF81000240
KERNEL = {f"function_{i}": Room(16 + 7 * (i % 40), 16) for i in range(400)}


def addresses(order: PlacedOrder, rooms: Mapping[str, Room]) -> dict[str, int]:
    """Where a linker puts the sections of an order, one behind the other."""
    cursor, found = START, {}
    for name in order.names:
        room = rooms.get(name) or Room(order.paddings[name], 16)
        found[name] = -(-cursor // room.align) * room.align
        cursor = found[name] + room.size
    return found


def test_equal_kernels_are_shuffled_alike_and_need_no_padding() -> None:
    one, other = place_together([KERNEL, KERNEL], "7", START)
    assert one == other
    assert list(one.names) == random_order(KERNEL, "7")
    assert one.paddings == {}


def test_changed_functions_stand_anywhere_among_those_that_are_the_same() -> None:
    """Over 100 layouts the place of one changed function is on average the middle (5 sigma)."""
    changed = KERNEL | {"function_200": Room(900, 16)}
    places = []
    for seed in map(str, range(100)):
        one, other = place_together([KERNEL, changed], seed, START)
        assert len(one.paddings) == 1
        assert not other.paddings
        places.append(one.names.index("function_200"))
    assert abs(sum(places) / 100 - 199.5) < 5 * 115.5 / 100**0.5


ROOMS = st.builds(Room, st.integers(1, 3000), st.sampled_from([16, 32, 64, 4096]))
KERNELS = st.lists(
    st.dictionaries(st.sampled_from([f"f{i}" for i in range(30)]), ROOMS), min_size=1, max_size=4
)


@given(KERNELS, st.text(max_size=5))
def test_what_all_kernels_have_lies_at_one_address(
    kernels: list[dict[str, Room]], seed: str
) -> None:
    orders = place_together(kernels, seed, START)
    found = [addresses(order, rooms) for order, rooms in zip(orders, kernels, strict=True)]
    for order, rooms in zip(orders, kernels, strict=True):
        assert set(order.names) == set(rooms) | set(order.paddings)
    for name in set.intersection(*map(set, kernels)):
        if len({rooms[name] for rooms in kernels}) == 1:
            assert len({places[name] for places in found}) == 1
