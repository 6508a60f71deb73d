# SPDX-License-Identifier: GPL-2.0-or-later
"""Delta debugging: the smallest part of a set that is still bad.

Zeller and Hildebrandt 2002, "Simplifying and Isolating Failure-Inducing Input", IEEE Transactions
on Software Engineering 28(2), section 3: the algorithm `ddmin`. What comes out is *1-minimal*:
without any one of its members it is not bad any more. (The smallest of all bad sets would take as
many tests as there are subsets.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TypeVar

Member = TypeVar("Member")
Parts = Sequence[tuple[Member, ...]]


def ddmin(
    members: Sequence[Member],
    first_bad: Callable[[Parts[Member]], int | None],
    on_left: Callable[[int], None] = lambda left: None,
    parts: int = 2,
) -> tuple[Member, ...]:
    """A 1-minimal bad part of `members`, in their order.

    members: are bad together.
    first_bad: the place of the first of some parts that is bad, None when none is; it may test
        several at once, and need not test those behind the first bad one.
    on_left: called with the number of members that are left, whenever there are fewer.
    parts: into how many a set is split first: 2, as the paper has it, or 3, which takes as many
        tests, and fewer rounds of them where several are done at once.

    One member among n is found in at most `parts` * log(n) / log(parts) tests: where all parts are
    tested, and the last one is bad each time.
    """
    left, count = tuple(members), min(parts, len(members))
    while len(left) > 1:
        split = _split(left, count)
        bad = first_bad(split)
        if bad is not None:
            left = split[bad]
            count = min(parts, len(left))
            on_left(len(left))
            continue
        # Of two parts, each is what the other one leaves.
        rests = [_without(left, part) for part in split] if count > 2 else []
        bad = first_bad(rests) if rests else None
        if bad is not None:
            left, count = rests[bad], max(count - 1, 2)
            on_left(len(left))
        elif count < len(left):
            count = min(len(left), 2 * count)
        else:
            return left
    return left


def _split(members: tuple[Member, ...], count: int) -> list[tuple[Member, ...]]:
    """So many parts, as equal as they can be, of neighbours."""
    edges = [len(members) * number // count for number in range(count + 1)]
    return [members[a:b] for a, b in pairwise(edges)]


def _without(members: tuple[Member, ...], part: tuple[Member, ...]) -> tuple[Member, ...]:
    gone = set(part)
    return tuple(member for member in members if member not in gone)
