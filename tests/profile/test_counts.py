# SPDX-License-Identifier: GPL-2.0-or-later
"""Branch counts: round trips, merging with equal weight, corrupt files in one sentence."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernsmith.errors import UserError
from kernsmith.profile import BranchCounts, merge_counts, read_counts, write_counts
from kernsmith.profile.counts import MAGIC, MOST, body_text, is_exact, is_workload_name

SMALL = BranchCounts(
    ranges={(0xFFFFFFFF81000000, 0xFFFFFFFF8100000F): 5},
    branches={(0xFFFFFFFF8100000F, 0xFFFFFFFF81000100): 3},
    build_id="ab12",
    workloads=("pipe",),
)

addresses = st.integers(0, 2**64 - 1)
counted = st.dictionaries(st.tuples(addresses, addresses), st.integers(1, 2**60), max_size=8)


def test_the_body_is_what_llvm_profgen_reads() -> None:
    assert body_text(SMALL) == (
        "1\nffffffff81000000-ffffffff8100000f:5\n1\nffffffff8100000f->ffffffff81000100:3\n"
    )


ordered = counted.map(lambda pairs: {(min(p), max(p)): count for p, count in pairs.items()})


@settings(deadline=None)
@given(ranges=ordered, branches=counted)
def test_what_is_written_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, ranges: dict, branches: dict
) -> None:
    path = tmp_path_factory.mktemp("counts") / "c"
    counts = BranchCounts(ranges, branches, "00ff", ("pipe", "fork"))
    write_counts(counts, path)
    assert read_counts(path) == counts


def test_counts_say_what_they_are_of(tmp_path: Path) -> None:
    path = tmp_path / "c"
    known = replace(SMALL, source="linux-7.3.4 sha256:ab", machines=("web3, EPYC  9354\n", "tcg"))
    write_counts(known, path)
    head = ["workloads pipe", "source linux-7.3.4 sha256:ab", "machine web3, EPYC 9354"]
    assert path.read_text().splitlines()[2:5] == head
    read = read_counts(path)
    assert read == replace(known, machines=("web3, EPYC 9354", "tcg"))
    # A file of before source and machine were told.
    path.write_text("\n".join(path.read_text().splitlines()[:3]) + "\n" + body_text(SMALL))
    assert read_counts(path) == SMALL


def test_merged_counts_are_of_all_machines() -> None:
    there = replace(SMALL, machines=("web", "db"))
    known = replace(SMALL, source="linux-7.3.4", machines=("db", "tcg"))
    merged = merge_counts([there, known])
    assert (merged.source, merged.machines) == ("linux-7.3.4", ("web", "db", "tcg"))
    # Steps go on with them.
    assert merged.scaled(2).of_kernel().without_targets([]).machines == merged.machines


def test_merged_workloads_have_equal_weight() -> None:
    heavy = BranchCounts({(0, 9): 1000}, {(9, 100): 1000}, "1", ("heavy",))
    light = BranchCounts({(100, 109): 10}, {(109, 0): 10}, "1", ("light",))
    merged = merge_counts([heavy, light])
    assert merged.ranges == {(0, 9): 1000, (100, 109): 1000}
    assert merged.workloads == ("heavy", "light")


def test_what_did_not_run_has_not_run_in_what_is_merged() -> None:
    some = BranchCounts({(0, 9): 1000, (20, 29): 0}, {(9, 100): 3, (29, 0): 0}, "1")
    for merged in (merge_counts([some]), merge_counts([some, some], [1, 5])):
        assert merged.ranges[20, 29] == merged.branches[29, 0] == 0
        assert merged.ranges[0, 9] > 0


def test_what_is_merged_can_be_read(tmp_path: Path) -> None:
    most = BranchCounts({(0, 9): (1 << 64) - 1, (20, 29): 7}, {(9, 20): 1}, "1")
    merged = merge_counts([most, most], [1e6, 1])
    write_counts(merged, tmp_path / "counts")
    again = read_counts(tmp_path / "counts")
    assert again.ranges == merged.ranges == {(0, 9): MOST, (20, 29): 4}
    assert again.branches == {(9, 20): 1}


def test_counts_of_two_kernels_are_not_merged() -> None:
    other = BranchCounts(SMALL.ranges, SMALL.branches, "ffff")
    with pytest.raises(UserError, match="build ids differ"):
        merge_counts([SMALL, other])


def test_branches_into_entry_code_are_interrupts_and_dropped() -> None:
    counts = BranchCounts({}, {(10, 500): 1, (520, 510): 1, (10, 600): 1})
    kept = counts.without_targets([(500, 600)]).branches
    assert set(kept) == {(520, 510), (10, 600)}


def test_samples_are_not_taken_for_exact_counts(tmp_path: Path) -> None:
    exact = BranchCounts({(1, 2): 3}, {}, "ab", ("pipe",))
    sampled = replace(exact, workloads=(), sampled=True)
    path = tmp_path / "c"
    for counts in (exact, sampled, merge_counts([exact, sampled])):
        write_counts(counts, path)
        assert read_counts(path) == counts
        assert is_exact(path) == (not counts.sampled)
    assert merge_counts([exact, sampled]).sampled
    assert sampled.scaled(2).sampled
    path.write_bytes(b"ELF")
    assert not is_exact(path)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "is not a profile"),
        ("ELF", "is not a profile"),
        (f"{MAGIC}\n", "line 2"),
        (f"{MAGIC}\nbuild-id a\n", "line 3"),
        (f"{MAGIC}\nbuild-id a\nworkloads \n", "line 4: the profile is cut off"),
        (f"{MAGIC}\nbuild-id a\nworkloads \n2\n1-2:3\n", "line 6: the profile is cut off"),
        (f"{MAGIC}\nbuild-id a\nworkloads \n1\n1-2\n0\n", "line 5: the profile is cut off"),
        (f"{MAGIC}\nbuild-id a\nworkloads \n0\n0\nmore\n", "lines too many"),
        (f"{MAGIC}\nbuild-id a\nworkloads \nmachine x\nsource y\n0\n0\n", "line 5"),
        (
            f"{MAGIC}\nbuild-id a\nworkloads \n1\n1-2:18446744073709551616\n0\n",
            "line 5: the count is above 18446744073709551615",
        ),
        (
            f"{MAGIC}\nbuild-id a\nworkloads \n2\n1-2:18446744073709551615\n1-2:1\n0\n",
            "line 6: the count is above",
        ),
        (f"{MAGIC}\nbuild-id a\nworkloads \n1\n2-1:5\n0\n", "line 5: the profile is corrupt"),
    ],
)
def test_corrupt_files_are_told_by_line(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "c"
    path.write_text(text)
    with pytest.raises(UserError, match=told):
        read_counts(path)


@settings(max_examples=300, deadline=None)
@given(cut=st.integers(0, 120), junk=st.binary(max_size=20))
def test_any_damage_is_counts_or_a_sentence(
    tmp_path_factory: pytest.TempPathFactory, cut: int, junk: bytes
) -> None:
    path = tmp_path_factory.mktemp("fuzz") / "c"
    write_counts(SMALL, path)
    path.write_bytes(path.read_bytes()[:cut] + junk)
    try:
        read_counts(path)
    except UserError as error:
        assert "\n" not in str(error)


LOADED = BranchCounts(
    ranges={(0x10, 0x1F): 5, (0x100, 0x10F): 7, (0x210, 0x21F): 9},
    branches={(0x1F, 0x100): 7, (0x10F, 0x10): 6, (0x10F, 0x210): 1, (0x21F, 0x210): 8},
    build_id="ab",
    workloads=("afalg",),
    modules={
        "one": {".text": (0x100, 0x180)},
        "two": {".text": (0x200, 0x280), ".noinstr.text": (0x180, 0x190)},
    },
)


def test_counts_know_where_modules_were(tmp_path: Path) -> None:
    path = tmp_path / "c"
    write_counts(LOADED, path)
    assert path.read_text().splitlines()[3] == "module one .text 100-180"
    assert read_counts(path) == LOADED
    assert merge_counts([read_counts(path), LOADED]).modules == LOADED.modules


def test_counts_of_a_kernel_and_of_its_modules_are_told_apart() -> None:
    own = LOADED.of_kernel()
    assert own.ranges == {(0x10, 0x1F): 5}
    assert own.branches == {(1, 0x10): 6}
    two = LOADED.of_module("two")
    assert two.ranges == {(0x210, 0x21F): 9}
    assert two.branches == {(1, 0x210): 1, (0x21F, 0x210): 8}
    assert not own.modules
    assert SMALL.of_kernel() == SMALL


def test_modules_that_other_boots_have_elsewhere_are_merged_at_one_place() -> None:
    """The second boot has `two` where the first has `one`, and nobody wanted `one`."""
    two = {".text": (0x100, 0x180), ".noinstr.text": (0x80, 0x90)}
    other = BranchCounts(
        ranges={(0x10, 0x1F): 12, (0x110, 0x11F): 9},
        branches={(0x1F, 0x110): 1, (0x11F, 0x110): 8},
        build_id="ab",
        workloads=("pipe",),
        modules={"two": two},
    )
    merged = merge_counts([LOADED, other])
    assert merged.modules == LOADED.modules
    assert merged.ranges == {(0x10, 0x1F): 17, (0x100, 0x10F): 7, (0x210, 0x21F): 18}
    assert merged.branches[(0x21F, 0x210)] == 16 and merged.branches[(0x1F, 0x210)] == 1
    assert merge_counts([other, LOADED]).of_module("two").ranges == {(0x110, 0x11F): 18}
    nothing = replace(SMALL, build_id="ab")
    assert merge_counts([nothing, other]).modules == other.modules


def test_a_module_that_lies_where_another_did_gets_a_place_behind() -> None:
    third = BranchCounts(
        ranges={(0x100, 0x10F): 21}, branches={(0x10F, 0x100): 21}, build_id="ab",
        workloads=("third",), modules={"three": {".text": (0x100, 0x200)}},
    )  # fmt: skip
    merged = merge_counts([LOADED, third])
    assert merged.modules["three"] == {".text": (0x1100, 0x1200)}
    assert merged.of_module("one").ranges == {(0x100, 0x10F): 7}
    assert merged.of_module("three").ranges == {(0x1100, 0x110F): 21}


def test_a_module_of_other_code_is_not_merged() -> None:
    other = replace(LOADED, modules={"one": {".text": (0x300, 0x390)}})
    with pytest.raises(UserError, match="the module one has other code in one of the profiles"):
        merge_counts([LOADED, other])


@settings(deadline=None)
@given(line=st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=40))
def test_any_line_of_modules_is_counts_or_one_sentence(
    tmp_path_factory: pytest.TempPathFactory, line: str
) -> None:
    path = tmp_path_factory.mktemp("counts") / "c"
    write_counts(LOADED, path)
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:4], f"module {line}", *lines[4:]]) + "\n")
    try:
        assert len(read_counts(path).modules) >= 2
    except UserError as error:
        assert "\n" not in str(error)


def test_a_workload_of_several_parts_is_told_once() -> None:
    assert merge_counts([SMALL, SMALL]).workloads == ("pipe",)


@pytest.mark.parametrize("word", ["w\xebb", "a\n3", "two words", "", "\t", "a\x1b"])
def test_words_that_the_file_cannot_have(word: str) -> None:
    assert not is_workload_name(word)
    assert is_workload_name("nginx-1.2")
