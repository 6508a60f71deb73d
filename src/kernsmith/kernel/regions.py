# SPDX-License-Identifier: GPL-2.0-or-later
"""Regions of a kernel's text: code that its linker script keeps apart, whatever an order says.

Entry, noinstr, scheduler, lock, interrupt and static-call code have input sections of one name each
(`include/asm-generic/vmlinux.lds.h`), and marks around them, since the kernel asks whether an
address is in one of them. Their functions stay inside; where a region begins, and in which order
the objects' sections follow each other in it, is as much luck as the order of all other functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kernsmith.kernel.symbols import Symbol, is_function, mark_of

# By the word in their marks: `__sched_text_start`, `__sched_text_end`.
_SECTIONS = {
    "entry": ".entry.text",
    "irqentry": ".irqentry.text",
    "noinstr": ".noinstr.text",
    "cpuidle": ".cpuidle.text",
    "sched": ".sched.text",
    "lock": ".spinlock.text",
    "kprobes": ".kprobes.text",
    "softirqentry": ".softirqentry.text",
    "static_call": ".static_call.text",
}


@dataclass(frozen=True)
class Margin:
    """Bytes of padding in a region: in front of all its code, and behind it."""

    before: int = 0
    behind: int = 0


@dataclass(frozen=True)
class Region:
    """section: the name of its input sections. start, end: addresses in the default layout."""

    section: str
    start: int
    end: int

    @property
    def size(self) -> int:
        """Bytes of code; 0 where this kernel has none."""
        return self.end - self.start

    def holds(self, other: Region) -> bool:
        """Whether another one is a part of it, as idle code is of noinstr code."""
        return self.start < other.start and other.end <= self.end


def regions_of(symbols: Sequence[Symbol]) -> tuple[Region, ...]:
    """The regions of a kernel, by address, without those that are a part of another."""
    # At one address, the mark of the end may come first.
    marks = {mark_of(symbol.name): symbol.address for symbol in symbols}
    found = [
        Region(section, marks[word, "start"], marks[word, "end"])
        for word, section in _SECTIONS.items()
        if (word, "start") in marks and (word, "end") in marks
    ]
    outer = [one for one in found if not any(other.holds(one) for other in found)]
    return tuple(sorted(outer, key=lambda region: (region.start, region.end)))


def region_functions(symbols: Sequence[Symbol], regions: Sequence[Region]) -> list[str]:
    """Names of the functions in some regions, by address, each once.

    An order that names them sorts the input sections of each region by the first function in them;
    most objects have one section for all of theirs.
    """
    return list(
        dict.fromkeys(
            symbol.name
            for symbol in symbols
            if is_function(symbol)
            and any(region.start <= symbol.address < region.end for region in regions)
        )
    )
