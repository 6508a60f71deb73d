# SPDX-License-Identifier: GPL-2.0-or-later
"""Several kernels' sections in places that all of them have in common, for replays.

Kernels that differ in few functions are laid out so that all other functions lie at the same
addresses in each of them, in every layout: what a layout then tells is the functions that differ.
Each section has a slot that is as large, and aligned, as the largest of all kernels needs; a kernel
without the section leaves it empty. (`layout.places` does the same for links, with padding that is
linked.)
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from kernsmith.kernel.exchange import UNCALLED
from kernsmith.layout.linkmap import Arrangement, InputSection, Text

ALIGN = 16
"""Of every slot, at least."""
_UNCALLED = ".uncalled"
# What an order may shuffle: the linker script's groups of functions, not code with a place.
_SHUFFLED = {"main", "hot", "unlikely", "split", "unknown"}

Key = tuple[str, str, int]
"""A section: its object, its name, and which of that name."""


@dataclass(frozen=True)
class Slot:
    """A place. size, align: in bytes."""

    key: Key
    size: int
    align: int


@dataclass(frozen=True)
class Slots:
    """What the linker script says, in its order: an alignment, or the slots of a pattern."""

    steps: tuple[int | tuple[Slot, ...], ...]

    def filled(self, text: Text, name: Callable[[str], str], *, more: bool = False) -> Filled:
        """With a kernel's sections. name: of an object, by its path in the linker's map.

        more: whether it may have sections without a slot, which come behind all others.

        Raises:
            ValueError: a section of the kernel has no slot.
        """
        own = dict(zip(_keys(text.sections, name), text.sections, strict=True))
        sections: list[InputSection] = []
        steps: list[int | tuple[int, ...]] = []
        numbers: dict[Key, tuple[int, ...]] = {}
        for step in self.steps:
            if isinstance(step, int):
                steps.append(step)
                continue
            group: list[int] = []
            for slot in step:
                parts = _parts(slot, own.pop(slot.key, None))
                numbers[slot.key] = tuple(range(len(sections), len(sections) + len(parts)))
                group += numbers[slot.key]
                sections += parts
            steps.append(tuple(group))
        if own and not more:
            raise ValueError(f"{next(iter(own))} has no slot")
        if own:
            steps.append(tuple(range(len(sections), len(sections) + len(own))))
            sections += own.values()
        placed = Text(text.start, _in_front(text.start, sections), tuple(steps), {})
        return Filled(placed, self, numbers)


@dataclass(frozen=True)
class Filled:
    """A kernel's text in slots: what a replay takes for the kernel's text.

    numbers: by slot, those of the sections in it.
    """

    text: Text
    slots: Slots
    numbers: dict[Key, tuple[int, ...]]

    def shuffled(self, seed: str) -> Arrangement:
        """The slots in an order that only the seed decides, the same for all kernels."""
        order: list[int] = []
        for step in self.slots.steps:
            if not isinstance(step, int) and step:
                keys = [slot.key for slot in step]
                if _group(keys[0]) in _SHUFFLED:
                    keys.sort(key=lambda key: _drawn(seed, key))
                order += (number for key in keys for number in self.numbers[key])
        return Arrangement(tuple(order))


def slots_for(texts: Sequence[Text], name: Callable[[str], str]) -> Slots:
    """Slots for the sections of all these kernels, which one linker script has laid out.

    Of an object with two forms of a function, the one that is called has the function's slot.

    Raises:
        ValueError: it was not one.
    """
    parts = [_between_alignments(text, name) for text in texts]
    if len({tuple(aligns) for aligns, _ in parts}) != 1:
        raise ValueError("the kernels were laid out by two linker scripts")
    largest: dict[Key, Slot] = {}
    for text in texts:
        for key, section in zip(_keys(text.sections, name), text.sections, strict=True):
            size, align = -(-section.size // ALIGN) * ALIGN, max(section.align, ALIGN)
            if known := largest.get(key):
                size, align = max(size, known.size), max(align, known.align)
            largest[key] = Slot(key, size, align)
    aligns, _ = parts[0]
    steps: list[int | tuple[Slot, ...]] = []
    for place, groups in enumerate(zip(*(stretches for _, stretches in parts), strict=True)):
        together = _merged(groups)
        for _, keys in groupby(together, key=_group):
            steps.append(tuple(largest[key] for key in keys))
        steps += aligns[place : place + 1]
    return Slots(tuple(steps))


def _parts(slot: Slot, section: InputSection | None) -> list[InputSection]:
    """What fills a slot: the section, and room, which has no name and no place in the traced
    layout."""
    if section is None:
        return [InputSection("", 0, slot.size, slot.align, ())]
    own = InputSection(
        section.name, section.start, section.size, slot.align, section.symbols, section.file
    )
    rest = slot.size - section.size
    return [own, InputSection("", 0, rest, 1, ())] if rest else [own]


def _in_front(start: int, sections: Sequence[InputSection]) -> tuple[InputSection, ...]:
    """With rooms in front of the traced text: nothing was executed there, and its end, by which the
    kernel maps its pages, stays."""
    cursor = start - sum(section.size for section in sections if not section.name)
    placed = []
    for section in sections:
        if not section.name:
            section = replace(section, start=cursor)
            cursor += section.size
        placed.append(section)
    return tuple(placed)


def _between_alignments(
    text: Text, name: Callable[[str], str]
) -> tuple[list[int], list[list[Key]]]:
    """The alignments that the linker script says, and the sections in front of, between and behind
    them."""
    keys = _keys(text.sections, name)
    aligns: list[int] = []
    stretches: list[list[Key]] = [[]]
    for step in text.steps:
        if isinstance(step, int):
            aligns.append(step)
            stretches.append([])
        else:
            stretches[-1] += (keys[number] for number in step)
    return aligns, stretches


def _merged(orders: Sequence[Sequence[Key]]) -> list[Key]:
    """All keys of several orders, those of one pattern of the linker script together."""
    merged = list(orders[0])
    known = set(merged)
    for order in orders[1:]:
        groups = [_group(key) for key in merged]
        for place, key in enumerate(order):
            if key in known:
                continue
            known.add(key)
            group = _group(key)
            if group in groups:  # behind the last one of its pattern
                at = len(groups) - groups[::-1].index(group)
            else:
                at = _behind(order[:place], merged)
            merged.insert(at, key)
            groups.insert(at, group)
    return merged


def _behind(before: Sequence[Key], merged: Sequence[Key]) -> int:
    """The place behind the pattern of what comes before."""
    patterns = {_group(key) for key in before}
    return max((at + 1 for at, key in enumerate(merged) if _group(key) in patterns), default=0)


def _keys(sections: Sequence[InputSection], name: Callable[[str], str]) -> list[Key]:
    counted: Counter[tuple[str, str]] = Counter()
    keys = []
    for section in sections:
        called = not any(symbol.endswith(UNCALLED) for symbol in section.symbols)
        own = name(section.file), section.name + ("" if called else _UNCALLED)
        keys.append((*own, counted[own]))
        counted[own] += 1
    return keys


def _group(key: Key) -> str:
    return InputSection(key[1], 0, 0, 1, ()).pattern


def _drawn(seed: str, key: Key) -> bytes:
    text = "\0".join((seed, *map(str, key)))
    return hashlib.blake2b(text.encode(), digest_size=16).digest()
