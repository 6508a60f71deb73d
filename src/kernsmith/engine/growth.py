# SPDX-License-Identifier: GPL-2.0-or-later
"""Going on with more random layouts until it is clear: the one loop of `run` and `bisect`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")
Answer = TypeVar("Answer")


def grow(
    first: int,
    most: int,
    measure: Callable[[int], Found],
    decide: Callable[[Found, bool], Answer | None],
    following: Callable[[int, int], int],
) -> Answer:
    """Measure in more and more layouts until it is decided.

    measure: with a number of layouts in all; those that there were before are measured already.
    decide: an answer, or None to go on; the second argument says that these layouts are the last.
    following: the next number of layouts, of this one and `most`.
    first, most: number of layouts to begin with, and at which there is an answer in any case.

    Raises:
        ValueError: there is no answer though all layouts are there.
    """
    layouts = first
    while True:
        last = layouts >= most
        answer = decide(measure(layouts), last)
        if answer is not None:
            return answer
        if last:
            raise ValueError(f"no answer after {layouts} layouts, which are the last ones")
        layouts = following(layouts, most)


def next_number(layouts: int, most: int) -> int:
    """Half as many layouts more, two at least."""
    return min(most, max(layouts + 2, layouts * 3 // 2))


def next_of_replayed(layouts: int, most: int) -> int:
    """Twice as many: layouts that are replayed cost little, and their trace is there."""
    return min(most, max(layouts + 2, layouts * 2))
