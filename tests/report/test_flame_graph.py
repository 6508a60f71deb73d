# SPDX-License-Identifier: GPL-2.0-or-later
"""A flame graph of a difference: widths, colours, figures; and in a browser, at two widths."""

import re
from pathlib import Path

import pytest
from chromium import Chromium

from kernsmith.document import FlameNodeView, FlameView
from kernsmith.report.flame import flame_svg
from kernsmith.report.page import Drawing, Heading, Page, Section, Text, write_page

ARTIFACTS = Path("build/test-artifacts")
HOSTILE = "</title><script>alert(1)</script>"
VIEW = FlameView(
    (
        FlameNodeView(None, "entry_SYSCALL_64", (100.0, 50.0)),
        FlameNodeView(0, "do_syscall_64", (100.0, 100.0)),
        FlameNodeView(1, "vfs_read", (300.0, 100.0)),
        FlameNodeView(1, "vfs_write", (200.0, 240.0)),
        FlameNodeView(3, HOSTILE, (0.0, 10.0)),
        FlameNodeView(None, "asm_sysvec_apic_timer_interrupt", (300.0, 0.0)),
    ),
    0.0,
)
_PLACE = r'x="([\d.]+)%" y="(\d+)" width="([\d.]+)%"'
_CELL = re.compile(_PLACE + r'.*?<title>(.*?)</title>.*?class="(\w+)"')


def _cells(side: int) -> dict[str, tuple[float, int, float, str]]:
    """By name: place, row, width, kind."""
    found = {}
    for x, y, width, title, kind in _CELL.findall(str(flame_svg(VIEW, side))):
        found[title.partition(":")[0]] = (float(x), int(y) // 17, float(width), kind)
    return found


def test_functions_are_as_wide_as_their_share() -> None:
    after = _cells(1)
    assert after["all"] == (0, 0, 100, "less")
    assert after["entry_SYSCALL_64"] == (0, 1, 100, "less")
    assert after["vfs_read"] == (0, 3, 20, "less")
    assert after["vfs_write"] == (20, 3, 50, "more")
    # What the variant does not execute has no width in its graph.
    assert "asm_sysvec_apic_timer_interrupt" not in after
    before = _cells(0)
    assert before["asm_sysvec_apic_timer_interrupt"] == (0, 1, 30, "less")
    assert before["entry_SYSCALL_64"][:3] == (30, 1, 70)


def test_figures_are_of_the_baseline_s_cycles() -> None:
    svg = str(flame_svg(VIEW, 1))
    assert "vfs_read: 30.00 % → 10.00 % (−20.00)<" in svg
    assert (
        "do_syscall_64: 60.00 % → 45.00 % (−15.00); without what it calls 10.00 % → 10.00 % (+0.00)"
        in svg
    )
    assert "<script" not in svg


@pytest.mark.browser
@pytest.mark.parametrize("width", [1250, 400])
def test_it_is_as_wide_as_the_page_and_its_letters_stay(
    chromium: Chromium, tmp_path: Path, width: int
) -> None:
    sections: list[Section] = [
        Heading("Stacks"),
        Text("Callers stand above what they call."),
        Drawing(flame_svg(VIEW, 1), "As wide as in the variant"),
    ]
    path = tmp_path / "page.html"
    write_page(Page("Flames", sections), path)
    chromium.call(
        "Emulation.setDeviceMetricsOverride",
        width=width, height=900, deviceScaleFactor=1, mobile=False,
    )  # fmt: skip
    chromium.open(path)
    box = "document.querySelector('svg.flame').getBoundingClientRect()"
    assert chromium.run("document.documentElement.scrollWidth") <= width
    assert 0.85 * width < chromium.run(f"{box}.width") <= width
    assert chromium.run(f"{box}.height") == 5 * 17
    letters = "parseFloat(getComputedStyle(document.querySelector('svg.flame text')).fontSize)"
    assert 11 <= chromium.run(letters) <= 12
    cell = "[...document.querySelectorAll('svg.flame svg')].find(e => e.textContent.includes('{}'))"
    own = f"({cell.format('vfs_write:')}).getBoundingClientRect().width"
    chromium.wait(f"Math.abs({own} / {box}.width - 0.5) < 0.01")
    chromium.screenshot(ARTIFACTS / f"flame-{width}.png")
    chromium.emulate(scheme="dark")
    chromium.screenshot(ARTIFACTS / f"flame-{width}-dark.png")
    # A click makes a function as wide as the graph, and what is beside it goes.
    chromium.run(f"({cell.format('vfs_write:')}).querySelector('rect').dispatchEvent("
                 "new MouseEvent('click', {bubbles: true}))")  # fmt: skip
    assert chromium.run(f"Math.abs({own} / {box}.width - 1) < 0.01")
    hidden = f"getComputedStyle({cell.format('vfs_read:')}).display"
    assert chromium.run(hidden) == "none"
    chromium.run(f"({cell.format('all:')}).querySelector('rect').dispatchEvent("
                 "new MouseEvent('click', {bubbles: true}))")  # fmt: skip
    assert chromium.run(hidden) != "none"
    assert chromium.problems == []
