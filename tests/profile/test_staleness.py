# SPDX-License-Identifier: GPL-2.0-or-later
"""How much of a profile of another version of a program fits this one."""

import subprocess
from pathlib import Path

import pytest

from kernsmith.cli import profile as profile_command
from kernsmith.errors import UserError
from kernsmith.kernel.toolchain import find_toolchain
from kernsmith.profile.lines import has_flow_sensitive, parse_profile, read_profile, write_profile
from kernsmith.profile.staleness import (
    Lost,
    counts_by_place,
    kernel_lines,
    match_profile,
    matched,
    read_both,
)

CLANG = find_toolchain()
SOURCE = """
    static inline int twice(int x)
    {
        return 2 * x;
    }
    __attribute__((noinline)) int work(int x)
    {
        int sum = 0;
        for (int i = 0; i < x; i++)
            sum += twice(i) ^ sum;
        return sum;
    }
    __attribute__((noinline)) int other(int x)
    {
        return work(x) + 1;
    }
    int main(void) { return other(7); }
"""
TEXT = """\
work:500:10
 1: 10
 3: 100
 4.1: 50
 4: twice:300
  1: 200
  2.3: 100
 !CFGChecksum: 77
other:40:20
 1: 40 work:10
"""
COUNTS = {("work", 1): 10, ("work", 3): 100, ("work", 4): 50, ("twice", 1): 200,
          ("twice", 2): 100, ("other", 1): 40}  # fmt: skip


@pytest.fixture
def program(tmp_path: Path) -> Path:
    return compiled(tmp_path / "program", SOURCE)


def compiled(image: Path, source: str, *flags: str) -> Path:
    text = image.with_suffix(".c")
    text.write_text(source)
    words = ("-O2", "-gline-tables-only", "-fdebug-info-for-profiling", *flags, "-o", image, text)
    subprocess.run([CLANG.compiler.program, *words], check=True)
    return image


def test_inlined_code_is_counted_where_it_comes_from() -> None:
    assert counts_by_place(parse_profile(TEXT.splitlines())) == COUNTS


def test_what_is_lost_is_told_by_function() -> None:
    kernel = parse_profile(["work:2:1", " 1: 1", " 3: 1", "twice:2:1", " 1: 1", " 2: 1"])
    found = matched(parse_profile(TEXT.splitlines()), kernel)
    assert found.functions == pytest.approx(0.92)
    assert found.lines == pytest.approx(0.82)
    assert found.lost == (Lost("work", 0.1, known=True), Lost("other", 0.08, known=False))


def test_a_profile_of_the_same_version_fits_whole(program: Path) -> None:
    places = counts_by_place(kernel_lines(program, CLANG)).keys()
    assert {("work", 4), ("other", 1), ("main", 0)} <= places
    text = program.with_name("profile")
    lines = [f" {line}: 10" for name, line in sorted(places) if name == "work"]
    text.write_text("\n".join([f"work:{10 * len(lines)}:1", *lines, ""]))
    found = match_profile(text, program, CLANG)
    assert (found.functions, found.lines, found.lost) == (1, 1, ())


def test_what_stands_behind_a_change_is_lost(program: Path, tmp_path: Path) -> None:
    text = tmp_path / "profile"
    text.write_text("work:120:10\n 2: 10\n 3: 100\n 5: 10\nother:80:20\n 2: 80\n")
    changed = SOURCE.replace("int sum = 0;", "int sum = 0;" + 9 * "\n").replace("other", "another")
    found = match_profile(text, compiled(tmp_path / "changed", changed), CLANG)
    assert {each.function: each.known for each in found.lost} == {"work": True, "other": False}
    assert found.functions == pytest.approx(0.6)
    assert found.lines < match_profile(text, program, CLANG).lines


def test_bad_input_is_one_sentence(program: Path, tmp_path: Path) -> None:
    nothing = tmp_path / "nothing"
    with pytest.raises(UserError, match="not a usable AutoFDO profile"):
        read_both(nothing, program, CLANG)
    nothing.write_text("work:0:0\n")
    with pytest.raises(UserError, match="has no counts"):
        read_both(nothing, program, CLANG)
    plain = compiled(tmp_path / "plain", SOURCE, "-g0")
    with pytest.raises(UserError, match="no line tables"):
        kernel_lines(plain, CLANG)
    nothing.write_text("kernsmith-counts 1\n")
    with pytest.raises(UserError, match="counts by address"):
        profile_command.match(nothing, kernel=str(program))
    with pytest.raises(UserError, match="counts by address"):
        profile_command.carry(nothing, kernel=str(program), output=tmp_path / "made")
    with pytest.raises(UserError, match="at least 0"):
        profile_command.match(nothing, kernel=str(program), limit=-1)


def test_a_line_at_which_code_is_inlined_has_code() -> None:
    """What a compiler finds is never more than the lines that there are."""
    profile = parse_profile(["work:150:1", " 1: 50", " 4: 50", " 4: twice:50", "  1: 50"])
    kernel = parse_profile(["work:2:1", " 1: 1", " 4: twice:1", "  1: 1"])
    found = matched(profile, kernel)
    assert (found.lines, found.found, found.lost) == (1.0, 1.0, ())


def test_a_profile_of_which_nothing_fits_is_not_carried(program: Path, tmp_path: Path) -> None:
    file, made = tmp_path / "profile", tmp_path / "made"
    file.write_text("stranger:20:1\n 1: 20\n")
    with pytest.raises(UserError, match=f"nothing of {file} fits {program}: of no function"):
        profile_command.carry(file, kernel=str(program), output=made)
    assert not made.exists()


@pytest.mark.parametrize("flow_sensitive", [False, True])
def test_what_is_carried_keeps_the_kind_of_its_discriminators(
    program: Path, tmp_path: Path, flow_sensitive: bool
) -> None:
    file, made = tmp_path / "given.afdo", tmp_path / "made.afdo"
    counts = parse_profile(["work:30:1", " 2: 10", " 3.2: 20"])
    write_profile(counts, CLANG, file, flow_sensitive=flow_sensitive)
    profile_command.carry(file, kernel=str(program), output=made)
    assert has_flow_sensitive(made, counts, CLANG) == flow_sensitive


def test_of_text_large_discriminators_are_flow_sensitive(tmp_path: Path) -> None:
    file = tmp_path / "text"
    for line, expected in ((" 3.255: 20", False), (" 3.70000: 20", True)):
        file.write_text(f"work:30:1\n 2: 10\n{line}\n")
        assert has_flow_sensitive(file, read_profile(file, CLANG), CLANG) == expected
