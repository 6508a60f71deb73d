# SPDX-License-Identifier: GPL-2.0-or-later
"""A profile of another version: its counts where the lines and functions are now."""

import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernsmith.errors import UserError
from kernsmith.kernel.toolchain import find_toolchain
from kernsmith.profile.carried import carry
from kernsmith.profile.lines import (
    Samples,
    parse_profile,
    profile_text,
    write_profile,
)
from kernsmith.profile.staleness import kernel_lines

CLANG = find_toolchain()
DEBUG = ("-gline-tables-only", "-fdebug-info-for-profiling")
OLD = """
int put(int), get(int), more(int), last(int), lock(int), unlock(int);
static inline int both(int x)
{
    return put(x) + get(x);
}
int work(int x)
{
    int sum = lock(x);
    if (x & 1)
        sum += both(sum);
    else
        sum -= more(sum);
    sum ^= unlock(x);
    return last(sum);
}
int above(int x)
{
    return work(x) + 1;
}
"""
# Two lines more at the top of `work`, one in its middle, and another name.
NEW = (
    OLD.replace("    int sum = lock(x);", "    int sum;\n\n    sum = lock(x);")
    .replace("    else\n", "    /* otherwise */\n    else\n")
    .replace("work(", "do_work(")
)


def compiled(folder: Path, source: str, *flags: str) -> Path:
    text, image = folder / "source.c", folder / "image"
    text.write_text(source)
    words = ("-O2", *DEBUG, *flags, "-o", image, text)
    subprocess.run([CLANG.compiler.program, *words], check=True, stderr=subprocess.DEVNULL)
    return image


def linked(folder: Path, source: str) -> Path:
    folder.mkdir()
    defined = "".join(
        f'__attribute__((noinline)) int {name}(int x) {{ __asm__(""); return x; }}\n'
        for name in ("put", "get", "more", "last", "lock", "unlock")
    )
    return compiled(folder, f"{source}{defined}int main(void) {{ return above(7); }}\n")


def test_lines_and_names_are_those_of_the_new_version(tmp_path: Path) -> None:
    old, new = (
        kernel_lines(linked(tmp_path / name, source), CLANG)
        for name, source in (("old", OLD), ("new", NEW))
    )
    carried = carry(old, new)
    assert carried.renamed == {"work": "do_work"}
    assert carried.before < 0.9
    assert carried.found == pytest.approx(1)
    calls = {
        name: place[0] for place, (_, targets) in new["do_work"].lines.items() for name in targets
    }
    moved = {
        name: place[0]
        for place, (_, targets) in carried.profile["do_work"].lines.items()
        for name in targets
    }
    assert calls == moved
    assert {place[0] for place in carried.profile["do_work"].inlined} == {
        place[0] for place in new["do_work"].inlined
    }


def test_clang_finds_what_was_carried(tmp_path: Path) -> None:
    old, new = (
        kernel_lines(linked(tmp_path / name, source), CLANG)
        for name, source in (("old", OLD), ("new", NEW))
    )
    files = {
        "as it was": write_profile(old, CLANG, tmp_path / "old.afdo"),
        "carried": write_profile(carry(old, new).profile, CLANG, tmp_path / "new.afdo"),
    }
    counted = {}
    for name, profile in files.items():
        folder = tmp_path / name
        folder.mkdir()
        flags = ("-S", "-emit-llvm", f"-fprofile-sample-use={profile}")
        written = compiled(folder, NEW, *flags).read_text()
        found = re.search(r"^define .*@do_work\(.* !prof !(\d+)", written, re.MULTILINE)
        assert found
        entries = re.search(
            rf'^!{found[1]} = .*"function_entry_count", i64 (-?\d+)', written, re.MULTILINE
        )
        assert entries
        counted[name] = int(entries[1])
    # -1 is what clang knows nothing of.
    assert counted["as it was"] == -1
    assert counted["carried"] >= 0


NAMES = st.sampled_from(["alpha", "beta", "gamma", "delta", "omega"])
PLACES = st.tuples(st.integers(0, 65535), st.integers(0, 300))
COUNTED = st.tuples(st.integers(0, 10**6), st.dictionaries(NAMES, st.integers(1, 99), max_size=3))
SAMPLES = st.recursive(
    st.builds(Samples, st.integers(0, 999), st.just(0), st.dictionaries(PLACES, COUNTED)),
    lambda inner: st.builds(
        Samples, st.integers(0, 999), st.just(0), st.dictionaries(PLACES, COUNTED),
        st.dictionaries(PLACES, st.dictionaries(NAMES, inner, min_size=1, max_size=2), max_size=3),
    ),
    max_leaves=8,
)  # fmt: skip
PROFILES = st.dictionaries(NAMES, SAMPLES, max_size=4)


@given(PROFILES)
def test_text_says_all_of_a_profile(made: dict[str, Samples]) -> None:
    assert parse_profile(profile_text(made).splitlines()) == made


def test_code_that_is_inlined_deeper_than_compilers_do_it_is_refused() -> None:
    lines = ["work:1:1", *(f"{' ' * depth}1: inner:1" for depth in range(1, 2000))]
    with pytest.raises(UserError, match="inlined 201 levels deep"):
        parse_profile(lines)


@given(PROFILES, PROFILES)
def test_no_count_is_made(made: dict[str, Samples], kernel: dict[str, Samples]) -> None:
    carried = carry(made, kernel)
    whole, kept = (sum(each.counted() for each in p.values()) for p in (made, carried.profile))
    assert kept == whole if not carried.left else kept <= whole
    assert 0 <= carried.before <= 1
    assert 0 <= carried.found <= 1
    assert carry(made, made).profile == made


def test_a_function_that_hardly_fits_is_left_as_without_a_profile() -> None:
    made = parse_profile(["work:30:1", " 1: 10", " 2: 20", "other:30:1", " 1: 20", " 2: 10"])
    carried = carry(made, parse_profile(["work:1:1", " 1: 1", "other:1:1", " 1: 1"]))
    assert carried.left == ("work",)
    assert list(carried.profile) == ["other"]
    assert carried.before == pytest.approx(0.5)
    assert carried.found == pytest.approx(1 / 3)
