# SPDX-License-Identifier: GPL-2.0-or-later
"""The pages of a kernel's text: the rule for a linked layout, and the guest that boots it."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from kernsmith._native import LayoutLab, trace_pages
from kernsmith.guest.workloads import load_catalogue
from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.link import relink
from kernsmith.kernel.symbols import movable_functions, read_system_map
from kernsmith.layout import layout_name, random_order
from kernsmith.machine import Job, run_once
from kernsmith.machine.tcg import open_machine

pytestmark = pytest.mark.kernel

SMALL, LARGE = 4096, 2 << 20
PADDING = {"kernsmith_padding_0": LARGE - 128 * 1024}


def linked(kernel: Kernel, order: list[str], paddings: Mapping[str, int] | None = None) -> Path:
    sizes = paddings or {}
    name = layout_name("pages", [*order, *map(str, sizes.values())])
    return relink(kernel, name, order, sizes)


def default(kernel: Kernel) -> Path:
    return kernel.vmlinux


def in_random_order(kernel: Kernel) -> Path:
    functions = movable_functions(read_system_map(kernel.system_map))
    return linked(kernel, random_order(functions, "pages"))


def nearly_a_large_page_longer(kernel: Kernel) -> Path:
    return linked(kernel, ["vfs_read", *PADDING], PADDING)


def bounds(image: Path) -> tuple[int, int]:
    """`_text` and `_etext`."""
    symbols = {s.name: s.address for s in read_system_map(image.with_name("System.map"))}
    return symbols["_text"], symbols["_etext"]


@pytest.mark.parametrize("layout", [default, in_random_order, nearly_a_large_page_longer])
def test_the_guests_pages_are_those_of_the_rule(
    layout: Callable[[Kernel], Path], micro_kernel: Kernel, tmp_path: Path
) -> None:
    image = layout(micro_kernel)
    work = load_catalogue().select(["signal"])[0]
    ran = run_once(open_machine("skylake"), image, Job(work, tmp_path, trace="of this test"))
    assert ran.ok, ran.reason
    assert ran.trace is not None
    start, end = bounds(image)
    # Text in one section: what is known of a layout is where its text begins and ends.
    lab = LayoutLab(start, [(start, end - start, LARGE)], [[0]])
    lab.add_trace(ran.trace, "of this test")
    read = trace_pages(ran.trace)
    assert lab.pages([0]) == read
    # The micro kernel has no modules. The page that holds _etext is split.
    large, small = (end // LARGE * LARGE, -(-end // SMALL) * SMALL)
    assert read == [(start, large - 1, LARGE), (large, small - 1, SMALL)]


def test_the_longer_text_has_a_large_page_more(micro_kernel: Kernel) -> None:
    """What the test above compares is not the same for all layouts."""
    ends = [bounds(of(micro_kernel))[1] for of in (default, nearly_a_large_page_longer)]
    assert ends[1] // LARGE == ends[0] // LARGE + 1
