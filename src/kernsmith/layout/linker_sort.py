# SPDX-License-Identifier: GPL-2.0-or-later
"""In which order lld puts sections that one line of an order file names alike.

Static functions may share a name; an order file gives all of them one priority. lld sorts a group's
sections by priority alone, with `llvm::sort` (`sortISDBySectionOrder` in `lld/ELF/Writer.cpp`),
which is `std::sort`: not stable, so that the order among them depends on all others, but the same
whenever the same is linked. This is `std::sort` of libstdc++ (`bits/stl_algo.h`), which
distributions build lld with: introsort down to 16 elements, then insertion, which is stable.
"""

from __future__ import annotations

from collections.abc import Sequence

_SMALL = 16


def sorted_by_linker(priorities: Sequence[int]) -> list[int]:
    """Indices of the priorities, as `std::sort` leaves what has them.

    Where its recursion gets too deep, `std::sort` goes over to a heap; that is not followed here
    (an order would have to be made for it), and equal ones may then be in another order.
    """
    places = list(range(len(priorities)))
    if places:
        _partition(places, priorities, 0, len(places), 2 * (len(places).bit_length() - 1))
    return sorted(places, key=priorities.__getitem__)


def _partition(a: list[int], keys: Sequence[int], first: int, last: int, depth: int) -> None:
    """`__introsort_loop`: until no part is longer than `_SMALL`."""
    while last - first > _SMALL and depth:
        depth -= 1
        _median_to_first(a, keys, first, last)
        pivot = keys[a[first]]
        low, high = first + 1, last
        while True:
            while keys[a[low]] < pivot:
                low += 1
            high -= 1
            while pivot < keys[a[high]]:
                high -= 1
            if low >= high:
                break
            a[low], a[high] = a[high], a[low]
            low += 1
        _partition(a, keys, low, last, depth)
        last = low


def _median_to_first(a: list[int], keys: Sequence[int], first: int, last: int) -> None:
    """`__move_median_to_first`, of the second, the middle and the last one."""
    second, middle, end = first + 1, first + (last - first) // 2, last - 1
    x, y, z = keys[a[second]], keys[a[middle]], keys[a[end]]
    if x < y:
        chosen = middle if y < z else end if x < z else second
    else:
        chosen = second if x < z else end if y < z else middle
    a[first], a[chosen] = a[chosen], a[first]
