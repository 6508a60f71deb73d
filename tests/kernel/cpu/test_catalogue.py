# SPDX-License-Identifier: GPL-2.0-or-later
"""The catalogue says what the installed compilers do: each of them is asked for every word."""

import html
import re

import pytest
from taken import taken_by

from kernsmith.kernel.cpu.catalogue import (
    FAMILIES,
    Cpu,
    parse_models,
    parse_release,
    read_catalogue,
)
from kernsmith.kernel.toolchain import Compiler, installed_compilers
from kernsmith.paths import shipped
from seed_data import seed

CATALOGUE = read_catalogue()
COMPILERS = installed_compilers()
NEWEST = [max((c for c in COMPILERS if c.family == f), key=lambda c: c.release) for f in FAMILIES]
each_compiler = pytest.mark.parametrize("compiler", COMPILERS, ids=lambda each: each.name)


newest_compilers = pytest.mark.parametrize("compiler", NEWEST, ids=lambda each: each.name)


def _skip_older(compiler: Compiler) -> None:
    if compiler.release < CATALOGUE.oldest[compiler.family]:
        pytest.skip(f"{compiler.banner} is older than what the catalogue tells apart")


def test_both_families_of_compilers_are_asked() -> None:
    assert {compiler.family for compiler in COMPILERS} == {"gcc", "clang"}


@each_compiler
def test_a_compiler_takes_what_the_catalogue_says_and_refuses_the_rest(compiler: Compiler) -> None:
    _skip_older(compiler)
    for target in CATALOGUE.targets():
        taken = not compiler.refuses((f"-march={target.march}",))
        assert taken == taken_by(target, compiler.family, compiler.release), target.march


@each_compiler
def test_every_word_of_a_compiler_is_in_the_catalogue(compiler: Compiler) -> None:
    _skip_older(compiler)
    words = compiler.words()
    assert len(words) > 40
    assert {word for word in words if CATALOGUE.find(word) is None} == set()


@newest_compilers
def test_a_processor_reaches_the_level_that_its_instructions_make(compiler: Compiler) -> None:
    levels = [level for level in CATALOGUE.levels if level.march in compiler.words()]
    assert len(levels) == 4
    for target in CATALOGUE.targets():
        if target.march in compiler.words():
            has = compiler.features(target.march)
            reached = max(each.level for each in levels if compiler.features(each.march) <= has)
            assert reached == target.level, target.march


@newest_compilers
def test_apx_is_marked(compiler: Compiler) -> None:
    for cpu in CATALOGUE.cpus():
        if cpu.march in compiler.words():
            assert ("APX_F" in compiler.features(cpu.march)) == cpu.apx, cpu.march


def _seed_rows() -> list[tuple[str, ...]]:
    """Name, -march=, gcc and clang of the table in seed 000."""
    rows = re.findall(r"<tr>(.*?)</tr>", seed("000_edf845f9f386fb46.txt"), re.DOTALL)
    cells = [tuple(map(html.unescape, re.findall(r"<td>(.*?)</td>", row))) for row in rows]
    return [row for row in cells if len(row) == 4 and re.fullmatch(r"[a-z0-9-]+", row[1])]


def test_all_rows_of_the_seed_are_there_and_every_difference_is_told() -> None:
    told = shipped("docs", "cpu.md").read_text()
    rows = _seed_rows()
    assert len(rows) == 36
    seen: set[str] = set()
    for name, march, gcc, clang in rows:
        if march in seen:
            assert "Tiger Lake" in name, "the one copy of the line above"
            march = "tigerlake"
        seen.add(march)
        target = CATALOGUE.find(march)
        assert isinstance(target, Cpu)
        for family, text in (("gcc", gcc), ("clang", clang)):
            newest = target.releases(family)[-1]
            floor = newest == CATALOGUE.oldest[family] and parse_release(text) < (10, 0)
            if "?" in text or not (floor or parse_release(text) == newest):
                row = rf"^\| `{march}` \| {family} \| {re.escape(text)} \| "
                written = re.escape(".".join(map(str, newest)))
                assert re.search(rf"{row}.*{written} \|", told, re.MULTILINE), (march, family)
    assert len(seen) == 36


def test_branches_that_got_a_word_later_are_told_apart() -> None:
    zen4 = CATALOGUE.find("znver4")
    assert zen4 is not None
    taken = {
        text: taken_by(zen4, "gcc", parse_release(text))
        for text in ("10.5", "11.3", "11.5", "12.2", "12.3", "12.5", "13.0", "13.1", "17.1")
    }
    assert [text for text in taken if taken[text]] == ["11.5", "12.3", "12.5", "13.1", "17.1"]
    phi = CATALOGUE.find("knl")
    assert phi is not None
    assert taken_by(phi, "gcc", (14, 4)) and not taken_by(phi, "gcc", (15, 1))
    assert taken_by(phi, "clang", (23, 1))


def test_names_and_identities_are_unique() -> None:
    words = [t.march for t in CATALOGUE.targets()]
    words += [alias for cpu in CATALOGUE.cpus() for alias in cpu.aliases]
    assert len(words) == len(set(words))


@pytest.mark.parametrize(
    ("vendor", "family", "model", "stepping", "march"),
    [
        # EPYC 9554, Ryzen 5950X, Ryzen 9600X; Xeon 8180, 8280, 8380H; i7-4790K; N100; C2350.
        ("AuthenticAMD", 0x19, 0x11, 1, "znver4"),
        ("AuthenticAMD", 0x19, 0x21, 0, "znver3"),
        ("AuthenticAMD", 0x1A, 0x44, 0, "znver5"),
        ("AuthenticAMD", 0x10, 0x02, 3, "barcelona"),
        ("AuthenticAMD", 0x10, 0x04, 3, "amdfam10"),
        ("GenuineIntel", 6, 0x55, 4, "skylake-avx512"),
        ("GenuineIntel", 6, 0x55, 7, "cascadelake"),
        ("GenuineIntel", 6, 0x55, 11, "cooperlake"),
        ("GenuineIntel", 6, 0x3C, 3, "haswell"),
        ("GenuineIntel", 6, 0xBE, 0, "gracemont"),
        ("GenuineIntel", 6, 0x4D, 8, "silvermont"),
        ("GenuineIntel", 19, 0x01, 0, "diamondrapids"),
        ("GenuineIntel", 6, 0xFE, 0, None),
        ("HygonGenuine", 0x18, 0x04, 0, "c86-4g-m4"),
    ],
)
def test_processors_are_identified(
    vendor: str, family: int, model: int, stepping: int, march: str | None
) -> None:
    found = CATALOGUE.identify(vendor, family, model, stepping)
    assert (found.march if found else None) == march


@pytest.mark.parametrize("text", ["13", "13.x", ""])
def test_what_is_no_release(text: str) -> None:
    with pytest.raises(ValueError, match="write it as"):
        parse_release(text)


@pytest.mark.parametrize("text", ["19", "19/G", "19/10-"])
def test_what_is_no_identity(text: str) -> None:
    with pytest.raises(ValueError):
        parse_models(text)
