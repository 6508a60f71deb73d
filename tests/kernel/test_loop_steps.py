# SPDX-License-Identifier: GPL-2.0-or-later
"""Steps on innermost loops: prefetches of what they read, and where they begin."""

import re
from pathlib import Path

import pytest

from kernsmith.study.objects import Assembler
from stepped_folder import ASSEMBLERS, COMPILERS, Folder

LOOPS = """\
extern int printf(const char *format, ...);
struct entry { long value; struct entry *next; };
__attribute__((noinline)) long sums(const long *from, long *to, int count)
{
	long sum = 0;
	for (int i = 0; i < count; i++) {
		for (int at = 0; at < count; at++)
			sum += from[at] * (at ^ i);
		to[i] = sum;
	}
	return sum;
}
__attribute__((noinline)) long listed(const struct entry *entry)
{
	long sum = 0;
	for (; entry; entry = entry->next)
		sum += entry->value;
	return sum;
}
int main(void)
{
	long from[8] = { 1, 2, 3, 4, 5, 6, 7, 8 }, to[8];
	struct entry last = { 3, 0 }, first = { 4, &last };
	long sum = sums(from, to, 8);
	return printf("%ld %ld %ld\\n", sum, to[7], listed(&first)) < 0;
}
"""
FLAGS = ("-ffunction-sections", "-fno-vectorize", "-fno-unroll-loops", "-mno-sse")
"""gcc knows all but the one that clang alone needs."""


@pytest.fixture(params=COMPILERS)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Folder:
    made = Folder(tmp_path, request.param)
    (tmp_path / "x.c").write_text(LOOPS)
    return made


def flags(folder: Folder) -> tuple[str, ...]:
    is_clang = "clang" in folder.compiler
    return tuple(flag for flag in FLAGS if is_clang or flag != "-fno-vectorize")


def code_of(function: str, assembly: str) -> list[tuple[int, str]]:
    """The instructions of a function, by address."""
    part = assembly.partition(f"<{function}>:")[2].split("Disassembly")[0]
    shown = re.findall(r"^ +([0-9a-f]+):\t(.*)$", part, re.MULTILINE)
    return [(int(address, 16), text) for address, text in shown]


def heads_of_loops(code: list[tuple[int, str]]) -> set[int]:
    """Where jumps back go to."""
    jumps = [(at, re.match(r"j\w+ +([0-9a-f]+) ", text)) for at, text in code]
    return {int(jump[1], 16) for at, jump in jumps if jump and int(jump[1], 16) <= at}


@pytest.mark.parametrize("assembler", ASSEMBLERS)
def test_what_a_loop_will_read_is_prefetched(folder: Folder, assembler: Assembler) -> None:
    folder.compile("pad=1", flags=flags(folder))
    said = folder.says()
    assert "prefetch" not in folder.assembly()
    folder.compile("prefetch=4096", assembler=assembler, flags=flags(folder))
    assert folder.says() == said
    loop = code_of("sums", folder.assembly())
    found = [number for number, (_, text) in enumerate(loop) if "prefetcht0" in text]
    assert found
    for number in found:
        address = re.sub(r"^.*0x1[0-9a-f]{3}", "", loop[number][1])
        assert address in loop[number + 1][1], "in front of the load by the same registers"
    listed = code_of("listed", folder.assembly())
    assert listed
    assert not any("prefetch" in text for _, text in listed), "where a list goes on, it says itself"


def test_the_kind_that_a_loop_takes_back_is_removed_again(folder: Folder) -> None:
    plain = folder.compile("no-prefetch", flags=flags(folder))
    assert folder.compile("prefetch=64", flags=flags(folder)) != plain
    assert folder.compile("prefetch=64", "no-prefetch", flags=flags(folder)) == plain


@pytest.mark.parametrize("assembler", ASSEMBLERS)
def test_innermost_loops_begin_at_multiples(folder: Folder, assembler: Assembler) -> None:
    folder.compile("pad=3", flags=flags(folder))
    said = folder.says()
    folder.compile("pad=3", "align-loops=128", assembler=assembler, flags=flags(folder))
    assert folder.says() == said
    assembly = folder.assembly()
    listed = heads_of_loops(code_of("listed", assembly))
    assert listed
    assert not any(head % 128 for head in listed)
    heads = heads_of_loops(code_of("sums", assembly))
    assert len(heads) > 1
    assert any(head % 128 == 0 for head in heads)
