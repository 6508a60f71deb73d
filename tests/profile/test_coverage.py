# SPDX-License-Identifier: GPL-2.0-or-later
"""Counts by source: the same as what llvm-symbolizer says of each instruction gives."""

import gzip
import json
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from counted_kernel import functions, make_counted_kernel, random_counts
from kernsmith._native import source_functions
from kernsmith.errors import UserError
from kernsmith.kernel.toolchain import find_toolchain
from kernsmith.profile import BranchCounts
from kernsmith.profile.coverage import (
    Coverage,
    SourceTexts,
    cover,
    find_texts,
    lcov_text,
    pprof_bytes,
)
from perf_files import build_id, make_vmlinux, symbols

FORMS = {
    "gcc": ("gcc",),
    "gcc, DWARF 4": ("gcc", "-gdwarf-4"),
    "clang": ("clang",),
    "clang, lines only": ("clang", "-gmlt", "-fdebug-info-for-profiling"),
    "compressed": ("gcc", "-gz"),
}


@pytest.fixture(scope="module", params=FORMS.values(), ids=FORMS.keys())
def vmlinux(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler, *flags = request.param
    if compiler == "clang":
        compiler = find_toolchain().compiler.program
    return make_counted_kernel(tmp_path_factory.mktemp("kernel"), compiler, *flags)


def _frames(vmlinux: Path) -> dict[int, list[dict[str, Any]]]:
    """What llvm-symbolizer says of each instruction: the innermost function first."""
    addresses = [at for inside in functions(vmlinux).values() for at in inside]
    program = find_toolchain().tool("llvm-symbolizer")
    words = [program, "--obj", vmlinux, "--inlines", "--relativenames", "--output-style=JSON"]
    told = subprocess.run(
        [*words, *map(hex, addresses)], check=True, capture_output=True, text=True
    ).stdout
    return {at: each["Symbol"] for at, each in zip(addresses, json.loads(told), strict=True)}


def _expected(vmlinux: Path, counts: BranchCounts) -> tuple[dict[Any, int], dict[str, int]]:
    """Counts of lines, and instructions executed by function, out of the symbolizer's frames."""
    most: dict[Any, int] = defaultdict(int)
    executed: dict[str, int] = defaultdict(int)
    for at, frames in _frames(vmlinux).items():
        count = sum(times for (a, b), times in counts.ranges.items() if a <= at <= b)
        own = frames[0]
        executed[own["FunctionName"]] += count
        if own["Line"]:
            copy = tuple((each["FunctionName"], each["Line"]) for each in frames[1:])
            place = (own["FileName"].removeprefix("./"), own["Line"], own["FunctionName"], copy)
            most[place] = max(most[place], count)
    lines: dict[Any, int] = defaultdict(int)
    for (file, line, *_), count in most.items():
        lines[file, line] += count
    return lines, {name: count for name, count in executed.items() if count}


@pytest.mark.parametrize("seed", range(8))
def test_lines_and_functions_are_what_the_symbolizer_says(vmlinux: Path, seed: int) -> None:
    counts = random_counts(vmlinux, seed)
    found = cover(counts, vmlinux)
    lines, executed = _expected(vmlinux, counts)
    shown = {(file.path, line.line): line.times for file in found.files for line in file.lines}
    ran = {file for (file, _), count in lines.items() if count}
    assert shown == {place: count for place, count in lines.items() if place[0] in ran}
    told: dict[str, int] = defaultdict(int)
    for function in found.functions:
        if function.executed:
            told[function.name] += function.executed
    assert told == executed
    assert found.executed == sum(executed.values())
    assert found.workloads == ("one", "two")


def test_each_instruction_is_of_a_function_of_the_source(vmlinux: Path) -> None:
    names, frames, spans = source_functions(vmlinux)
    assert all(outer is None or outer < place for place, (outer, _) in enumerate(frames))

    def inlined(frame: int | None) -> list[str]:
        """Names, the innermost first."""
        if frame is None:
            return []
        outer, name = frames[frame]
        return [names[name], *inlined(outer)]

    assert spans == sorted(spans)
    assert all(end <= begin for (_, end, _), (begin, _, _) in pairwise(spans))
    for at, symbolized in _frames(vmlinux).items():
        told = [inlined(frame) for begin, end, frame in spans if begin <= at < end]
        known = symbolized[0]["FunctionName"] not in ("bare", "lined")
        expected = [each["FunctionName"] for each in symbolized]
        assert told == [expected] or (not known and not told)


def test_copies_are_added_and_entries_counted(vmlinux: Path) -> None:
    """A function that is inlined at three places, of which two ran."""
    at = functions(vmlinux)
    ranges = {(at["leaf"][0], at["leaf"][-1]): 5, (at["_start"][0], at["_start"][-1]): 2}
    found = cover(BranchCounts(ranges, {}, build_id(vmlinux)), vmlinux)
    told = {function.name: function for function in found.functions}
    assert (told["leaf"].entered, told["_start"].entered) == (5, 2)
    assert told["never"].entered == told["never"].executed == 0
    header = next(file for file in found.files if file.path == "include/twice.h")
    # In leaf's copy of outer, in _start's, and in _start itself, if no line is left out there.
    assert 5 + 2 <= max(line.times for line in header.lines) <= 5 + 2 + 2
    main = next(file for file in found.files if file.path == "kernel/main.c")
    assert told["leaf"].file == found.files.index(main)
    assert not list(found.silent(main))


def test_a_stretch_that_never_ran_is_told_once(vmlinux: Path) -> None:
    """Only the first instruction of a function ran: all its other lines did not."""
    start = symbols(vmlinux)["_start"]
    found = cover(BranchCounts({(start, start): 3}, {}, build_id(vmlinux)), vmlinux)
    (main,) = found.files
    assert main.ran == 1
    names = [found.functions[stretch.function].name for stretch in found.silent(main)]
    assert set(names) == {"_start"}
    shown = {line.line for line in main.lines if not line.times}
    for stretch in found.silent(main):
        assert {stretch.first, stretch.last} <= shown


def test_code_without_line_tables_is_by_symbol(vmlinux: Path) -> None:
    bare = symbols(vmlinux)["bare"]
    found = cover(BranchCounts({(bare, bare + 4): 7}, {}, build_id(vmlinux)), vmlinux)
    assert found.files == ()
    (function,) = found.functions
    # The lock is part of an instruction: three were executed, seven times each.
    assert (function.name, function.file, function.entered) == ("bare", None, 7)
    assert function.executed == found.executed == 21


def test_lcov_has_all_lines(vmlinux: Path) -> None:
    found = cover(random_counts(vmlinux, 3), vmlinux)
    texts = find_texts(found, vmlinux, vmlinux.parent)
    records = lcov_text(found, texts.path).split("end_of_record\n")[:-1]
    assert len(records) == len(found.files)
    for record, file in zip(records, found.files, strict=True):
        fields = [line.partition(":")[::2] for line in record.splitlines()]
        named = dict(fields)
        assert named["SF"] == str((vmlinux.parent / file.path).resolve())
        counted = [value for key, value in fields if key == "DA"]
        assert counted == [f"{line.line},{line.times}" for line in file.lines]
        assert (int(named["LF"]), int(named["LH"])) == (len(counted), file.ran)
        assert int(named["FNF"]) == sum(key == "FN" for key, _ in fields)
        entered = [value for key, value in fields if key == "FNDA"]
        assert int(named["FNH"]) == sum(not value.startswith("0,") for value in entered)


def _fields(content: bytes) -> Iterator[tuple[int, Any]]:
    """Numbers and byte strings of a message of protocol buffers."""

    def number() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = content[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    at = 0
    while at < len(content):
        key = number()
        value: Any = number()
        if key & 7 == 2:
            value, at = content[at : at + value], at + value
        yield key >> 3, value


def test_pprof_has_every_instruction_and_what_it_is_inlined_in(vmlinux: Path) -> None:
    found = cover(random_counts(vmlinux, 5), vmlinux)
    profile: dict[int, list[Any]] = defaultdict(list)
    for field, value in _fields(gzip.decompress(pprof_bytes(found))):
        profile[field].append(value)
    strings = [value.decode() for value in profile[6]]
    assert strings[0] == ""
    functions = {dict(_fields(each))[1]: dict(_fields(each)) for each in profile[5]}
    stacks = {}
    for each in profile[4]:
        lines = [dict(_fields(value)) for field, value in _fields(each) if field == 4]
        names = [strings[functions[line[1]][2]] for line in lines]
        stacks[dict(_fields(each))[1]] = tuple(names)
    told: dict[tuple[str, ...], int] = defaultdict(int)
    for each in profile[2]:
        sample = dict(_fields(each))
        (_, location), (_, value) = (next(_fields(b"\x08" + sample[field])) for field in (1, 2))
        told[stacks[location]] += value
    expected: dict[tuple[str, ...], int] = defaultdict(int)
    counts = random_counts(vmlinux, 5).ranges
    for at, frames in _frames(vmlinux).items():
        names = tuple(frame["FunctionName"] for frame in frames)
        expected[names] += sum(times for (a, b), times in counts.items() if a <= at <= b)
    assert told == {names: count for names, count in expected.items() if count}


def test_what_is_refused(vmlinux: Path, tmp_path: Path) -> None:
    counts = random_counts(vmlinux, 1)
    with pytest.raises(UserError, match="is of another kernel"):
        cover(replace(counts, build_id="ab" * 20), vmlinux)
    with pytest.raises(UserError, match=r"of no instruction of .* that it was executed"):
        cover(replace(counts, ranges={(1, 2): 3}), vmlinux)
    with pytest.raises(UserError, match="is no vmlinux"):
        cover(counts, vmlinux.parent / "kernel/main.c")
    with pytest.raises(UserError, match="cannot be read"):
        cover(counts, tmp_path / "nothing")
    with pytest.raises(UserError, match="has no line tables"):
        cover(counts, make_vmlinux(tmp_path, "-g0"))


def test_where_the_source_is(vmlinux: Path, tmp_path: Path) -> None:
    found = cover(random_counts(vmlinux, 2), vmlinux)
    with pytest.raises(UserError, match="is of no kernel in the cache"):
        find_texts(found, vmlinux, None)
    with pytest.raises(UserError, match=r"has none of the files .* --source FOLDER"):
        find_texts(found, vmlinux, tmp_path)
    with pytest.raises(UserError, match="is no longer in"):
        find_texts(found, vmlinux, tmp_path / "gone")
    texts = find_texts(found, vmlinux, vmlinux.parent)
    lines = texts.lines("include/twice.h")
    assert lines is not None
    assert lines[1].startswith("static inline")


def test_no_file_outside_of_the_source_is_shown(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "mm").mkdir(parents=True)
    (tree / "mm/slab.c").write_text("one\n\f\ntwo\n")
    (tmp_path / "secret").write_text("no\n")
    texts = SourceTexts((tree,))
    assert texts.lines("../secret") is None
    assert texts.lines(str(tmp_path / "secret")) is None
    # Form feeds do not end a line; an absolute name is of the machine that compiled it.
    assert texts.lines("/build/linux/mm/slab.c") == ["one", "\f", "two"]


def test_nothing_ran_in_files_without_an_error() -> None:
    empty = Coverage((), (), (), (), 1)
    assert lcov_text(empty, lambda name: None) == ""
    assert gzip.decompress(pprof_bytes(empty))


def test_counts_of_code_without_lines_blame_no_source(vmlinux: Path, tmp_path: Path) -> None:
    start = symbols(vmlinux)["_start"]
    found = cover(BranchCounts({(start, start): 3}, {}, build_id(vmlinux)), vmlinux)
    with pytest.raises(UserError, match=r"are all of code of .* that has no lines"):
        find_texts(replace(found, files=()), vmlinux, tmp_path)
