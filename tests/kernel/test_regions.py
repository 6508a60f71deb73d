# SPDX-License-Identifier: GPL-2.0-or-later
"""Regions of the text that the linker script keeps apart, and how random layouts shift them."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from kernsmith.guest.workloads import load_catalogue
from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.link import relink
from kernsmith.kernel.link_map import link_map
from kernsmith.kernel.regions import Margin, Region, regions_of
from kernsmith.kernel.symbols import Symbol, read_system_map, text_span
from kernsmith.layout import (
    PlacedOrder,
    TracedText,
    drawn_order,
    functions_of,
    layout_name,
    margins_together,
    movable_data,
    random_order,
    read_link_map,
)
from kernsmith.machine import Job, run_once
from kernsmith.machine.tcg import open_machine
from kernsmith.study import Layout

SYMBOLS = [
    Symbol(0x1000, "T", "_stext"),
    Symbol(0x1000, "T", "__entry_text_start"),
    Symbol(0x1000, "t", "entry_SYSCALL_64"),
    Symbol(0x1040, "t", "__irqentry_text_start"),
    Symbol(0x1040, "t", "asm_exc_page_fault"),
    Symbol(0x1060, "t", "__irqentry_text_end"),
    Symbol(0x1070, "T", "__entry_text_end"),
    Symbol(0x1070, "T", "__unlikely_text_start"),
    Symbol(0x1080, "t", "cold"),
    Symbol(0x1090, "T", "__unlikely_text_end"),
    Symbol(0x2000, "T", "vfs_read"),
    Symbol(0x3000, "T", "__kprobes_text_end"),
    Symbol(0x3000, "T", "__kprobes_text_start"),
    Symbol(0x3000, "T", "__softirqentry_text_start"),
    Symbol(0x3000, "T", "__do_softirq"),
    Symbol(0x3007, "T", "__softirqentry_text_end"),
    Symbol(0x3010, "T", "_etext"),
]
INSIDE = {"entry_SYSCALL_64": 0, "asm_exc_page_fault": 0x40}
ENTRY = Region(".entry.text", 0x1000, 0x1070, INSIDE)
SOFTIRQ = Region(".softirqentry.text", 0x3000, 0x3007, {"__do_softirq": 0})
SEEDS = [str(number) for number in range(1000)]


def test_regions_are_what_stands_between_marks_and_in_no_other_region() -> None:
    kprobes = Region(".kprobes.text", 0x3000, 0x3000)
    assert regions_of(SYMBOLS) == (ENTRY, kprobes, SOFTIRQ)


def test_only_random_layouts_move_regions() -> None:
    functions = functions_of(SYMBOLS)
    assert functions.movable == ("cold", "vfs_read")
    assert drawn_order(functions, Layout("an.order"), ["cold"]) == PlacedOrder(("cold",))
    drawn = drawn_order(functions, Layout(seed="7"))
    inside = {"entry_SYSCALL_64", "asm_exc_page_fault", "__do_softirq"}
    assert set(drawn.names) == {"cold", "vfs_read"} | inside
    assert drawn.margins.keys() == {".entry.text", ".softirqentry.text"}
    assert drawn == drawn_order(functions, Layout(seed="7"))
    assert drawn.margins != drawn_order(functions, Layout(seed="8")).margins


def test_layouts_with_shifted_regions_have_names_of_their_own() -> None:
    """What a ledger knows of layouts that only shuffle functions is not taken for theirs."""
    names = ("a", "b")
    orders = [PlacedOrder(names, margins={".entry.text": Margin(n)}) for n in (16, 32)]
    known = {layout_name("random", list(names))}
    assert len(known | {layout_name("random", order.words) for order in orders}) == 3


def test_a_region_begins_anywhere_in_a_line_and_in_a_page() -> None:
    """Each of 256 places is as likely as the others: on average the middle (5 sigma)."""
    functions = functions_of(SYMBOLS)
    drawn = [drawn_order(functions, Layout(seed=seed)).margins for seed in SEEDS]
    for section in (".entry.text", ".softirqentry.text"):
        shifts = [margins[section].before for margins in drawn]
        assert {shift % 64 for shift in shifts} == {0, 16, 32, 48}
        assert all(0 < shift <= 4096 for shift in shifts)
        assert abs(sum(shifts) / len(shifts) - 2056) < 5 * 4096 / 12**0.5 / len(shifts) ** 0.5
    alike = sum(one[".entry.text"] == one[".softirqentry.text"] for one in drawn)
    assert alike < 20, "each region is drawn by itself"


def test_together_regions_begin_and_end_at_the_same_place_in_each_kernel() -> None:
    other = Region(".sched.text", 0x4000, 0x4010)
    longer = Region(".entry.text", 0x1000, 0x1090, INSIDE)
    one, two = margins_together([[ENTRY, SOFTIRQ], [longer, SOFTIRQ, other]], "7")
    drawn = two[".entry.text"]
    assert one[".entry.text"] == Margin(drawn.before, 0x20)
    assert drawn.behind == 0
    assert one[".softirqentry.text"] == two[".softirqentry.text"]
    assert (".sched.text" in one, ".sched.text" in two) == (False, True)
    # What the longer one has more stands in front of most of its functions.
    pushed = Region(".entry.text", 0x1000, 0x1090, {name: at + 0x20 for name, at in INSIDE.items()})
    one, two = margins_together([[ENTRY], [pushed]], "7")
    assert two[".entry.text"] == drawn
    assert one[".entry.text"] == Margin(drawn.before + 0x20)


def addresses(symbols: Iterable[Symbol]) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {}
    for symbol in symbols:
        found.setdefault(symbol.name, set()).add(symbol.address)
    return found


@pytest.mark.kernel
@pytest.mark.parametrize("seed", ["a", "b", "c"])
def test_a_kernel_boots_with_its_regions_where_they_were_predicted(
    micro_kernel: Kernel, tmp_path: Path, seed: str
) -> None:
    symbols = read_system_map(micro_kernel.system_map)
    order = drawn_order(functions_of(symbols), Layout(seed=seed))
    assert {".entry.text", ".noinstr.text", ".sched.text", ".spinlock.text"} < set(order.margins)
    name = layout_name("random", order.words)
    image = relink(micro_kernel, name, list(order.names), order.paddings, order.margins)
    before, there = addresses(symbols), addresses(read_system_map(image.with_name("System.map")))
    text = read_link_map(link_map(micro_kernel))
    layout = text.arranged(order.names, order.margins)
    starts = TracedText(text, []).lab.place(list(layout.order), list(layout.shifts))
    moved: dict[str, int] = {}
    for section, start in zip(text.sections, starts, strict=True):
        # The map also names symbols that are not where their section begins.
        if section.name in order.margins and section.start in before[section.symbols[0]]:
            assert start in there[section.symbols[0]], section
            moved[section.name] = moved.get(section.name, 0) + (start != section.start)
    assert moved[".entry.text"] > 0 and moved[".noinstr.text"] > 20

    workloads = load_catalogue().select(["pipe", "signal"])
    for work in workloads:
        ran = run_once(open_machine("skylake"), image, Job(work, tmp_path / work.name))
        assert ran.ok, ran.reason


@pytest.mark.kernel
def test_a_kernel_boots_with_its_data_shuffled_and_counts_the_same(
    micro_kernel: Kernel, tmp_path: Path
) -> None:
    data = random_order(movable_data(link_map(micro_kernel)), "a")
    assert len(data) > 500
    image = relink(micro_kernel, layout_name("data", data), data)
    symbols = (micro_kernel.system_map, image.with_name("System.map"))
    before, after = (addresses(read_system_map(path)) for path in symbols)
    assert sum(before[name] != after[name] for name in data) > 0.9 * len(data)
    first, last = text_span(micro_kernel.system_map)
    code = [
        {(s.name, s.address) for s in read_system_map(path) if first <= s.address < last}
        for path in symbols
    ]
    assert code[0] == code[1]

    (work,) = load_catalogue().select(["pipe"])
    one, other = (
        run_once(open_machine("skylake"), kernel, Job(work, tmp_path / kernel.parent.name))
        for kernel in (micro_kernel.vmlinux, image)
    )
    assert other.ok, other.reason
    assert other.metrics["model_cycles"][0] == pytest.approx(
        one.metrics["model_cycles"][0], rel=1e-3
    )


@pytest.mark.kernel
def test_margins_keep_what_follows_at_its_place(micro_kernel: Kernel) -> None:
    """More padding in front of a region or behind it: the next region begins at one place."""
    symbols = read_system_map(micro_kernel.system_map)
    names = functions_of(symbols).drawn
    found = []
    for margin in (Margin(128, 64), Margin(64, 128)):
        image = relink(
            micro_kernel,
            layout_name("margins", [str(margin), *names]),
            list(names),
            margins={".entry.text": margin, ".sched.text": margin},
        )
        found.append(addresses(read_system_map(image.with_name("System.map"))))
    before, behind = found
    for name in ("entry_SYSCALL_64", "schedule"):
        assert before[name] == {address + 64 for address in behind[name]}
    for name in ("vfs_read", "memcpy", "_raw_spin_lock", "_etext"):
        assert before[name] == behind[name]
