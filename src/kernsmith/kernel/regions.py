# SPDX-License-Identifier: GPL-2.0-or-later
"""Regions of a kernel's text: code that its linker script keeps apart, whatever an order says.

Entry, noinstr, scheduler, lock, interrupt and static-call code have input sections of one name each
(`include/asm-generic/vmlinux.lds.h`), and marks around them, since the kernel asks whether an
address is in one of them. Their functions stay inside; where a region begins, and in which order
the objects' sections follow each other in it, is as much luck as the order of all other functions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

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
    """section: the name of its input sections. start, end: addresses in the default layout.

    functions: where each begins, in bytes behind the start.
    """

    section: str
    start: int
    end: int
    functions: Mapping[str, int] = field(default_factory=dict)

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
    code = [symbol for symbol in symbols if is_function(symbol)]
    found = [
        _region(section, marks[word, "start"], marks[word, "end"], code)
        for word, section in _SECTIONS.items()
        if (word, "start") in marks and (word, "end") in marks
    ]
    outer = [one for one in found if not any(other.holds(one) for other in found)]
    return tuple(sorted(outer, key=lambda region: (region.start, region.end)))


def _region(section: str, start: int, end: int, code: Sequence[Symbol]) -> Region:
    inside = {s.name: s.address - start for s in code if start <= s.address < end}
    return Region(section, start, end, inside)
