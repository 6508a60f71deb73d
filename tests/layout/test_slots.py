# SPDX-License-Identifier: GPL-2.0-or-later
"""Slots: functions that kernels have in common lie at one address in all of them, in any layout."""

from dataclasses import replace
from itertools import pairwise

import pytest

from kernsmith._native import LayoutLab
from kernsmith.layout import Arrangement, Text
from kernsmith.layout.linkmap import InputSection
from kernsmith.layout.slots import Filled, Slots, slots_for

START = 0xFFFFFFFF81000000


def kernel(*groups: list[tuple[str, str, int]] | int) -> Text:
    """Sections as (file, name, size), laid out one behind the other; numbers are alignments."""
    sections: list[InputSection] = []
    steps: list[int | tuple[int, ...]] = []
    dot = START
    for group in groups:
        if isinstance(group, int):
            steps.append(group)
            dot = -(-dot // group) * group
            continue
        first = len(sections)
        for file, name, size in group:
            dot = -(-dot // 16) * 16
            sections.append(InputSection(name, dot, size, 16, (name,), file))
            dot += size
        steps.append(tuple(range(first, len(sections))))
    return Text(START, tuple(sections), tuple(steps), {})


GOOD = kernel(
    [("a.o", ".entry.text", 90)],
    16,
    [("a.o", ".text.f", 100), ("a.o", ".text.g", 50), ("b.o", ".text.f", 33), ("c.o", ".text", 7)],
    4096,
    [("c.o", ".sched.text", 64)],
)
# g is larger, f of b.o is hot, h is new; the rest is the same.
BAD = kernel(
    [("a.o", ".entry.text", 90)],
    16,
    [("b.o", ".text.hot.f", 20)],
    [("a.o", ".text.f", 100), ("a.o", ".text.g", 80), ("c.o", ".text", 7), ("c.o", ".text.h", 40)],
    4096,
    [("c.o", ".sched.text", 64)],
)


def places(filled: Filled, layout: Arrangement) -> dict[tuple[str, str], int]:
    """Where a replay puts the sections that are in the kernel, by the native code."""
    text = filled.text
    lab = LayoutLab(
        text.start,
        [(s.start, s.size, s.align) for s in text.sections],
        [step if isinstance(step, int) else list(step) for step in text.steps],
    )
    starts = lab.place(list(layout.order), list(layout.shifts))
    named = zip(text.sections, starts, strict=True)
    return {(section.file, section.name): start for section, start in named if section.file}


@pytest.fixture
def slots() -> Slots:
    return slots_for([GOOD, BAD], str)


def test_what_is_the_same_lies_at_one_address_in_every_layout(slots: Slots) -> None:
    good, bad = slots.filled(GOOD, str), slots.filled(BAD, str)
    seen = set()
    for seed in map(str, range(30)):
        one, other = places(good, good.shuffled(seed)), places(bad, bad.shuffled(seed))
        common = one.keys() & other.keys()
        assert len(common) == 5
        assert {key: one[key] for key in common} == {key: other[key] for key in common}
        assert len(set(one.values())) == len(one)
        seen.add(tuple(sorted(one, key=one.__getitem__)))
    assert len(seen) > 10, "layouts differ"


def test_every_section_has_its_room_and_groups_keep_their_order(slots: Slots) -> None:
    for kernel_text in (GOOD, BAD):
        filled = slots.filled(kernel_text, str)
        found = places(filled, filled.shuffled("1"))
        sizes = {(s.file, s.name): s.size for s in kernel_text.sections}
        assert found.keys() == sizes.keys()
        ordered = sorted(found, key=found.__getitem__)
        for before, behind in pairwise(ordered):
            assert found[before] + sizes[before] <= found[behind]
        assert ordered[0] == ("a.o", ".entry.text")
        assert ordered[-1] == ("c.o", ".sched.text")
        assert found["c.o", ".sched.text"] % 4096 == 0
    hot, main = found["b.o", ".text.hot.f"], found["a.o", ".text.f"]
    assert hot < main, "hot functions stand in front, as in the script"


def test_room_moves_nothing_of_the_layout_that_was_traced(slots: Slots) -> None:
    for kernel_text in (GOOD, BAD):
        text = slots.filled(kernel_text, str).text
        real = [section for section in text.sections if section.name]
        room = [section for section in text.sections if not section.name]
        assert {(s.name, s.start, s.size) for s in real} == {
            (s.name, s.start, s.size) for s in kernel_text.sections
        }
        assert room
        assert all(section.start + section.size <= START for section in room)


def test_of_two_forms_the_one_that_is_called_has_the_slot(slots: Slots) -> None:
    """As objects of both kernels' have them: the other form lies behind all."""
    wanted = slots.filled(GOOD, str)
    called = places(wanted, wanted.shuffled("1"))["a.o", ".text.g"]
    for symbols, first in ((("g", "g.bad"), True), (("g.good", "g"), False)):
        both = replace(GOOD.sections[2], size=50), replace(GOOD.sections[2], size=80)
        forms = [
            replace(each, symbols=(symbol,), start=START + 0x100000 * (number + 1))
            for number, (each, symbol) in enumerate(zip(both, symbols, strict=True))
        ]
        others = [s for s in GOOD.sections if (s.file, s.name) != ("a.o", ".text.g")]
        text = replace(
            GOOD,
            sections=(*others, *forms),
            steps=((0,), 16, (*range(1, len(others) - 1), 6, 7), 4096, (len(others) - 1,)),
        )
        filled = slots.filled(text, str, more=True)
        lab = LayoutLab(
            filled.text.start,
            [(s.start, s.size, s.align) for s in filled.text.sections],
            [step if isinstance(step, int) else list(step) for step in filled.text.steps],
        )
        layout = filled.shuffled("1")
        starts = lab.place(list(layout.order), list(layout.shifts))
        found = {s.start: at for s, at in zip(filled.text.sections, starts, strict=True)}
        chosen, other = forms if first else reversed(forms)
        assert found[chosen.start] == called
        assert found[other.start] == max(starts)


def test_a_section_without_a_slot_is_told(slots: Slots) -> None:
    other = kernel([("z.o", ".text.z", 10)])
    with pytest.raises(ValueError, match="has no slot"):
        slots.filled(other, str)
    with pytest.raises(ValueError, match="two linker scripts"):
        slots_for([GOOD, other], str)
