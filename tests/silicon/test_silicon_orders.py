# SPDX-License-Identifier: GPL-2.0-or-later
"""Orders of a program's functions, made as the layout lab makes them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kernsmith._native import LayoutLab
from kernsmith.engine.best_order import ORDERS, Effort
from kernsmith.engine.events import Silent
from kernsmith.engine.silicon_orders import Maker, link_orders
from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.toolchain import Compiler, default_compiler, find_compiler
from kernsmith.layout import Text, random_order
from kernsmith.machine.tcg import open_machine
from kernsmith.process import run
from kernsmith.silicon.binaries import (
    DEFAULT,
    Binary,
    Objects,
    compile_program,
    link_layouts,
    link_order,
)
from kernsmith.silicon.builds import BASELINE, find_builds
from kernsmith.silicon.orders import ordered_text
from kernsmith.silicon.programs import find_program


@pytest.fixture(scope="module")
def clang() -> Compiler:
    return find_compiler(default_compiler())


@pytest.fixture(scope="module")
def tcc(clang: Compiler) -> Objects:
    return compile_program(find_program("tcc"), find_builds([BASELINE])[0], clang)


def places(binary: Path) -> dict[str, set[int]]:
    """Where the functions of a program lie; static ones may share a name."""
    found: dict[str, set[int]] = {}
    for address, name in re.findall(
        r"^([0-9a-f]+) [tTwW] (\S+)$", run(["nm", str(binary)], timeout=60).output, re.MULTILINE
    ):
        found.setdefault(name, set()).add(int(address, 16))
    return found


def orders_file(binary: Binary) -> list[str]:
    """The functions that an order names."""
    (file,) = binary.path.parent.glob(
        f"{binary.path.stem.split('-', 1)[1].rsplit('-', 1)[0]}.order"
    )
    return file.read_text().split()


def placed(text: Text, order: list[str]) -> list[int]:
    lab = LayoutLab(
        text.start,
        [(s.start, s.size, s.align) for s in text.sections],
        [step if isinstance(step, int) else list(step) for step in text.steps],
    )
    return lab.place(text.numbers(order))


def test_functions_of_a_program_are_placed_as_the_linker_places_them(
    tcc: Objects, clang: Compiler
) -> None:
    binary = link_layouts(tcc, (DEFAULT,), clang)[0]
    known = ordered_text(tcc, binary.path, clang)
    assert len(known.functions) > 500
    order = random_order(known.functions, "somewhere else")
    default, moved = (places(one.path) for one in (binary, link_order(tcc, "drawn", order, clang)))
    # Sections that begin with their first symbol.
    first = [
        number
        for number, section in enumerate(known.text.sections)
        if section.symbols and section.start in default[section.symbols[0]]
    ]
    assert len(first) > 500
    for arranged, found in ((placed(known.text, []), default), (placed(known.text, order), moved)):
        names = {number: known.text.sections[number].symbols[0] for number in first}
        assert not [name for number, name in names.items() if arranged[number] not in found[name]]
    assert moved != default


@pytest.mark.kernel
def test_orders_are_made_from_one_run_of_the_program(
    tcc: Objects, clang: Compiler, micro_kernel: Kernel
) -> None:
    effort = Effort(count=0, evaluations=9, every=64, seed=1)
    maker = Maker(open_machine("skylake"), micro_kernel.vmlinux, clang, effort)
    linked = link_orders(tcc, ORDERS, maker, Silent())
    assert [one.layout for one in linked] == [f"order:{name}" for name in ORDERS]

    def first(binary: Binary) -> list[str]:
        """The functions in front, by address."""
        by_place = sorted((min(at), name) for name, at in places(binary.path).items())
        return [name for _, name in by_place[:100]]

    in_front = {one.layout: first(one) for one in linked}
    # What a compiler of C spends its time with.
    assert "next_nomacro1" in in_front["order:hot-first"]
    # A search that finds nothing leaves the order that it began with.
    assert len({tuple(names) for names in in_front.values()}) >= len(ORDERS) - 1
    # All but the linker's own name what is executed and nothing else.
    executed = {name: frozenset(orders_file(one)) for name, one in zip(ORDERS, linked, strict=True)}
    assert executed["c3"] == executed["density"] == executed["hot-first"] == executed["shared"]
    assert 100 < len(executed["c3"]) < len(executed["packed"])
    again = link_orders(tcc, ["c3"], maker, Silent())
    assert again == [one for one in linked if one.layout == "order:c3"]
