# SPDX-License-Identifier: GPL-2.0-or-later
"""The linker's map: sections, groups and alignments; and nothing that is no map."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernsmith.errors import UserError
from kernsmith.kernel.regions import Margin
from kernsmith.layout import Arrangement, Text, TracedText, movable_data, read_link_map
from kernsmith.layout.evaluate import movable_in

MAP = """\
             VMA              LMA     Size Align Out     In      Symbol
               0                0        0     1 jiffies = jiffies_64
ffffffff81000000          1000000     2060    64 .text
ffffffff81000000          1000000        0     1         _stext = .
ffffffff81000000          1000000       40    64         vmlinux.a(entry.o):(.entry.text)
ffffffff81000000          1000000       20     1                 entry_one
ffffffff81000020          1000020       20     1                 entry_two
ffffffff81000040          1000040        0     1         . = ALIGN(16)
ffffffff81000040          1000040        0     1         __unlikely_text_start = .
ffffffff81000040          1000040       30    16         vmlinux.a(main.o):(.text.unlikely.cold_one)
ffffffff81000040          1000040       30     1                 cold_one
ffffffff81000070          1000070      f90     1         . = ALIGN((1 << 12))
ffffffff81001000          1001000        0     1         __hot_text_start = .
ffffffff81001000          1001000       30    16         vmlinux.a(main.o):(.text.hot.warm)
ffffffff81001000          1001000       30     1                 warm
ffffffff81001030          1001030       10    16         vmlinux.a(main.o):(.text)
ffffffff81001040          1001040       10    16         vmlinux.a(a.o):(.text.twin)
ffffffff81001040          1001040       10     1                 twin
ffffffff81001050          1001050       10    16         vmlinux.a(b.o):(.text.twin)
ffffffff81001050          1001050       10     1                 twin
ffffffff81001050          1001050        0     1                 alias
ffffffff81001060          1001060        0     1         _etext = .
ffffffff81002000          1002000      123  4096 .rodata
ffffffff81002000          1002000      123    16         vmlinux.a(main.o):(.rodata)
"""


@pytest.fixture
def link_map(tmp_path: Path) -> Path:
    path = tmp_path / "map"
    path.write_text(MAP)
    return path


def test_the_groups_are_the_linker_scripts(link_map: Path) -> None:
    text = read_link_map(link_map)
    assert text.start == 0xFFFFFFFF81000000
    assert [section.name for section in text.sections] == [
        ".entry.text", ".text.unlikely.cold_one", ".text.hot.warm", ".text", ".text.twin",
        ".text.twin",
    ]  # fmt: skip
    assert text.steps == ((0,), 16, (1,), 4096, (2,), (3, 4, 5))
    assert text.sections[0].symbols == ("entry_one", "entry_two")
    assert (text.sections[2].size, text.sections[2].align) == (0x30, 16)


def test_names_are_found_as_the_linker_finds_them(link_map: Path) -> None:
    text = read_link_map(link_map)
    assert text.numbers(["alias", "warm", "twin", "unknown", "warm"]) == [5, 2, 4]
    assert text.knows("alias")
    assert not text.knows("unknown")


def test_names_of_the_linker_script_stand_for_functions(tmp_path: Path) -> None:
    """As in `PROVIDE(snp_cpuid = __pi_snp_cpuid)`: ld.lld moves a function to the first of
    its names in an order."""
    path = tmp_path / "map"
    path.write_text(
        MAP
        + """\
ffffffff81002123          1002123        0     1         listed = entry_two
ffffffff81003000 ffffffff81003000        0     1 PROVIDE(provided = cold_one)
ffffffff81003000 ffffffff81003000        0     1 two = twin
ffffffff81003000 ffffffff81003000        0     1 sum = twin + 16
"""
    )
    text = read_link_map(path)
    assert text.sections[0].symbols == ("entry_one", "entry_two", "listed")
    assert text.sections[1].symbols == ("cold_one", "provided")
    assert text.numbers(["provided", "listed"]) == [1, 0]
    assert not any(text.knows(name) for name in ("two", "sum", "jiffies", "_stext"))
    assert text.steps == ((0,), 16, (1,), 4096, (2,), (3, 4, 5))


def test_margins_stand_around_the_group_of_their_region(link_map: Path) -> None:
    text = read_link_map(link_map)
    margins = {".entry.text": Margin(48, 16)}
    assert text.arranged(["warm"], margins) == Arrangement((2,), ((0, 48), (1, 16)))
    assert text.arranged(["warm"]) == Arrangement((2,))
    starts = TracedText(text, []).lab.place([], list(text.arranged([], margins).shifts))
    # The entry code is aligned to 64; what follows it, and the page that functions begin in.
    assert [start - text.start for start in starts[:3]] == [0x40, 0x90, 0x1000]
    with pytest.raises(UserError, match=r"shows no \.sched\.text that could be moved"):
        text.arranged([], {".sched.text": Margin(16)})


DATA = """\
             VMA              LMA     Size Align Out     In      Symbol
ffffffff81800000          1800000      400    64 .data
ffffffff81800000          1800000       20    64         vmlinux.a(a.o):(.data..page_aligned)
ffffffff81800000          1800000        8     1                 a_page
ffffffff81800020          1800020        0     1         . = ALIGN(64)
ffffffff81800040          1800040       20     8         vmlinux.a(a.o):(.data)
ffffffff81800040          1800040        8     1                 twin
ffffffff81800048          1800048        8     1                 of_a
ffffffff81800060          1800060       20     8         vmlinux.a(b.o):(.data)
ffffffff81800060          1800060        8     1                 twin
ffffffff81800080          1800080       20     8         vmlinux.a(c.o):(.data..read_mostly)
ffffffff81800080          1800080        8     1                 seldom
ffffffff818000a0          18000a0       20     8         vmlinux.a(c.o):(__dyndbg)
ffffffff818000a0          18000a0        8     1                 in_a_table
ffffffff81801000          1801000       40    64 .bss
ffffffff81801000          1801000       20     8         vmlinux.a(c.o):(.bss.of_c)
ffffffff81801000          1801000        8     1                 of_c
ffffffff81802000          1802000       40    64 .init.data
ffffffff81802000          1802000       20     8         vmlinux.a(c.o):(.init.data)
ffffffff81802000          1802000        8     1                 at_boot
"""


def test_data_that_may_change_places_goes_by_symbols_that_nothing_else_has(tmp_path: Path) -> None:
    """Not pages, tables, what is gone after the boot; nor what shares all its names."""
    (tmp_path / "map").write_text(DATA)
    assert movable_data(tmp_path / "map") == ["of_a", "seldom", "of_c"]
    with pytest.raises(UserError, match="cannot read the linker's map"):
        movable_data(tmp_path / "missing")


def test_sections_of_one_name_come_in_the_order_of_the_input(
    link_map: Path, tmp_path: Path
) -> None:
    """Where the linker has sorted what it was given: the twin of b.o was given first."""
    twins = MAP.index("vmlinux.a(a.o)"), MAP.index("vmlinux.a(b.o)")
    swapped = list(MAP)
    for place, letter in zip(twins, "ba", strict=True):
        swapped[place + len("vmlinux.a(")] = letter
    path = tmp_path / "given"
    path.write_text("".join(swapped))
    text = read_link_map(link_map, path)
    assert text.numbers(["warm", "twin"]) == [2, 5, 4]
    assert text.sections == read_link_map(link_map).sections
    path.write_text(MAP.replace("a(a.o)", "a(c.o)"))
    with pytest.raises(UserError, match="given is the map of another kernel"):
        read_link_map(link_map, path)


def test_an_alignment_of_nothing_aligns_nothing(tmp_path: Path) -> None:
    path = tmp_path / "map"
    path.write_text(MAP.replace("ALIGN(16)", "ALIGN(0)"))
    assert read_link_map(path).steps[:3] == ((0,), 1, (1,))


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        ("", "it shows no .text"),
        ("VMA LMA\nnonsense\n", "it shows no .text"),
        (MAP.replace("ALIGN(16)", "ALIGN(24)"), "is no power of two"),
        (MAP.replace("ALIGN(16)", "ALIGN(__import__('os'))"), "is no power of two"),
    ],
)
def test_what_is_no_map_is_told(tmp_path: Path, broken: str, told: str) -> None:
    path = tmp_path / "map"
    path.write_text(broken)
    with pytest.raises(UserError, match=told):
        read_link_map(path)
    with pytest.raises(UserError, match="cannot read the linker's map"):
        read_link_map(tmp_path / "missing")


@given(st.data())
def test_damaged_maps_raise_nothing_else(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    text = bytearray(MAP.encode())
    for _ in range(data.draw(st.integers(1, 6))):
        text[data.draw(st.integers(0, len(text) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("damaged") / "map"
    path.write_bytes(text)
    try:
        read_link_map(path)
    except UserError as error:
        assert str(path) in str(error)


def test_functions_may_have_a_second_name_in_their_sections(tmp_path: Path) -> None:
    """As objtool gives them (CONFIG_PREFIX_SYMBOLS); without such sections a kernel is refused."""
    line = "ffffffff81000000 1000000 {size} {align} {indent}{what}\n"

    def text_with(functions: int) -> Text:
        """Two sections with so many functions each, which have two names."""
        lines = line.format(size=40, align=16, indent="", what=".text")
        for section in "ab":
            what = f"vmlinux.o:(.text.{section})"
            lines += line.format(size=10, align=16, indent=" " * 8, what=what)
            for number in range(functions):
                for name in (f"__pfx_{section}{number}", f"{section}{number}"):
                    lines += line.format(size=10, align=1, indent=" " * 16, what=name)
        path = tmp_path / "map"
        path.write_text(lines)
        return read_link_map(path)

    names = ["__pfx_a0", "a0", "__pfx_b0", "b0", "elsewhere"]
    assert movable_in(text_with(1), names) == tuple(names[:4])
    many = [
        f"{prefix}{section}{n}" for prefix in ("__pfx_", "") for section in "ab" for n in range(9)
    ]
    with pytest.raises(UserError, match="without function sections"):
        movable_in(text_with(9), many)
