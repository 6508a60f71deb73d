# SPDX-License-Identifier: GPL-2.0-or-later
"""`kernsmith profile`: a profile of a perf.data file, and one sentence for what is none."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kernsmith.cli.counts import merge
from kernsmith.errors import UserError
from kernsmith.kernel.artifact import Kernel
from kernsmith.kernel.toolchain import find_toolchain
from kernsmith.profile import BranchCounts, read_counts, write_counts
from perf_files import (
    HOST,
    PROCESSOR,
    RELEASE,
    TEXT,
    build_id,
    make_vmlinux,
    perf_data,
    symbols,
)

MOVED = 0x1C000000


def _profile(*words: "str | Path") -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "kernsmith", "profile", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def vmlinux(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_vmlinux(tmp_path_factory.mktemp("kernel"))


@pytest.fixture(scope="module")
def samples(vmlinux: Path) -> list[list[tuple[int, int]]]:
    """Calls of a function out of a program, on a kernel that was moved."""
    leaf = symbols(vmlinux)["leaf"] + MOVED
    return [[(0x401000, leaf)]] * 10


def _convert(vmlinux: Path, file: Path, output: Path, *words: str) -> str:
    told = _profile("convert", file, "--kernel", vmlinux, "-o", output, *words)
    assert told.returncode == 0, told.stderr
    return told.stdout


def test_counts_are_by_link_address(
    vmlinux: Path, samples: list[list[tuple[int, int]]], tmp_path: Path
) -> None:
    file, output = tmp_path / "perf.data", tmp_path / "made.counts"
    file.write_bytes(perf_data(samples, moved=MOVED, build_id=build_id(vmlinux)))
    told = _convert(vmlinux, file, output, "--to", "counts")
    assert f"build id {build_id(vmlinux)}, moved by {MOVED:#x}" in told
    assert "10 with 10 entries, 100.0 % of the kernel" in told
    counts = read_counts(output)
    assert counts.build_id == build_id(vmlinux)
    assert dict(counts.branches) == {(1, symbols(vmlinux)["leaf"]): 10}


def test_the_result_as_json(
    vmlinux: Path, samples: list[list[tuple[int, int]]], tmp_path: Path
) -> None:
    file, output = tmp_path / "perf.data", tmp_path / "made.counts"
    file.write_bytes(perf_data(samples, moved=MOVED))
    document = json.loads(_convert(vmlinux, file, output, "--to", "counts", "--json"))
    assert document["version"] == 1
    assert (document["samples"], document["inside"], document["moved"]) == (10, 10, MOVED)
    assert document["remarks"] == ["the file does not say of which kernel it is (no build id)"]


def test_counts_say_where_they_were_recorded(
    vmlinux: Path, samples: list[list[tuple[int, int]]], tmp_path: Path
) -> None:
    file, output = tmp_path / "perf.data", tmp_path / "made.counts"
    told = {HOST: "web3", RELEASE: "7.3.4-amd64", PROCESSOR: "AMD EPYC 9354"}
    file.write_bytes(perf_data(samples, moved=MOVED, build_id=build_id(vmlinux), told=told))
    shown = _convert(vmlinux, file, output, "--to", "counts", "--workload", "nginx")
    assert "machine: web3, AMD EPYC 9354" in shown
    counts = read_counts(output)
    assert (counts.source, counts.workloads) == ("Linux 7.3.4-amd64", ("nginx",))
    assert counts.machines == ("web3, AMD EPYC 9354",)
    words = ("convert", file, "--kernel", vmlinux, "-o", tmp_path / "x", "--workload", "nginx")
    refused = _profile(*words)
    assert refused.returncode == 2
    assert "--workload stands in files of counts alone, --to is afdo" in refused.stderr


def test_instruction_pointers_become_a_profile(vmlinux: Path, tmp_path: Path) -> None:
    leaf = symbols(vmlinux)["leaf"]
    file, output = tmp_path / "perf.data", tmp_path / "made.txt"
    file.write_bytes(perf_data([[(0, leaf)]] * 7, stacks=False))
    _convert(vmlinux, file, output, "--samples", "ip", "--to", "text")
    assert output.read_text().startswith("leaf:")
    afdo = tmp_path / "made.afdo"
    _convert(vmlinux, file, afdo, "--samples", "ip")
    shown = subprocess.run(
        [find_toolchain().tool("llvm-profdata"), "show", "--sample", afdo],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert "Function: leaf:" in shown


Damage = Callable[[bytes], bytes]


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda good: b"", "is empty"),
        (lambda good: b"{}", "is no file of perf record"),
        (lambda good: good[:-100], "is cut off: 100 bytes are missing"),
        (lambda good: good[7::-1] + good[8:], "was recorded on a machine of the other byte order"),
        (lambda good: good[:238] + b"\1\0" + good[240:], "is corrupt at byte 232"),
        (lambda good: perf_data([[(0, TEXT)]], stacks=False), "has no branch stacks: record with"),
        (lambda good: perf_data([[(0, TEXT)]], build_id="ab" * 20), "is of another kernel"),
        (lambda good: perf_data([]), "has no samples"),
    ],
    ids=["empty", "other", "cut", "endian", "corrupt", "stacks", "kernel", "samples"],
)
def test_what_is_no_profile_of_this_kernel(
    vmlinux: Path,
    samples: list[list[tuple[int, int]]],
    tmp_path: Path,
    damage: Damage,
    sentence: str,
) -> None:
    file, output = tmp_path / "perf.data", tmp_path / "made.afdo"
    file.write_bytes(damage(perf_data(samples, moved=MOVED)))
    told = _profile("convert", file, "--kernel", vmlinux, "-o", output)
    assert told.returncode == 2
    assert told.stderr.startswith(f"kernsmith: {file} {sentence[:5]}")
    assert sentence in told.stderr
    assert told.stderr.count("\n") == 1
    assert not output.exists()


def test_a_vmlinux_that_is_none_or_bare(
    vmlinux: Path, samples: list[list[tuple[int, int]]], tmp_path: Path
) -> None:
    file, output = tmp_path / "perf.data", tmp_path / "made.afdo"
    file.write_bytes(perf_data(samples, moved=MOVED))

    def refused(kernel: "Path | str", *words: str) -> str:
        told = _profile("convert", file, "--kernel", kernel, "-o", output, *words)
        assert told.returncode == 2
        return told.stderr

    assert "is no vmlinux" in refused(file)
    assert "is no built kernel" in refused("nowhere")
    bare = make_vmlinux(tmp_path, "-g0")
    assert "has no line tables, which --to afdo needs" in refused(bare)
    stripped = make_vmlinux(tmp_path, "-s")
    assert "has no symbols: the vmlinux of the build is needed" in refused(stripped)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["record", "x"], "nothing to write: give --counts FILE, --perf-data FILE, or both"),
        (["record", "x", "--counts", "y", "--period", "0"], "--period must be at least 1"),
        (["record", "nowhere", "--counts", "y"], "'nowhere' is no built kernel"),
    ],
)
def test_what_cannot_be_recorded(words: list[str], sentence: str) -> None:
    told = _profile(*words)
    assert (told.returncode, told.stdout) == (2, "")
    assert sentence in told.stderr


@pytest.fixture
def two_counts(vmlinux: Path, tmp_path: Path) -> tuple[Path, Path]:
    """All of a function, ten times; its first byte, once."""
    at, identity = symbols(vmlinux), build_id(vmlinux)
    leaf, start = at["leaf"], at["_start"]
    files = tmp_path / "a.counts", tmp_path / "b.counts"
    whole = BranchCounts({(leaf, leaf + 2): 10, (start, start + 9): 1}, {(1, leaf): 10}, identity)
    write_counts(whole, files[0])
    write_counts(BranchCounts({(leaf, leaf + 2): 1}, {(1, leaf): 1}, identity), files[1])
    return files


def test_show_names_the_hottest_functions(vmlinux: Path, two_counts: tuple[Path, Path]) -> None:
    told = _profile("show", two_counts[0], "--kernel", vmlinux)
    assert told.returncode == 0, told.stderr
    head, functions, _ = told.stdout.split("\n\n")
    assert head == f"build id:  {build_id(vmlinux)}\ncounts:    exact"
    table = [line.split() for line in functions.splitlines()]
    assert table[1] == ["75.00%", "75.00%", "10", "leaf"]
    assert table[2] == ["25.00%", "100.00%", "0", "_start"]
    assert functions.splitlines()[3] == "2 of 2 functions that ran: 100.0% of the run"
    told = _profile("show", two_counts[0], "--kernel", vmlinux, "--limit", "1", "--json")
    document = json.loads(told.stdout)
    assert document["functions"] == [
        {"name": "leaf", "share": 0.75, "entered": 10, "address": f"{symbols(vmlinux)['leaf']:#x}"}
    ]
    assert document["functions_that_ran"] == 2


def test_show_names_the_hottest_lines(
    vmlinux: Path, two_counts: tuple[Path, Path], tmp_path: Path
) -> None:
    told = _profile("show", two_counts[0], "--kernel", vmlinux, "--json")
    document = json.loads(told.stdout)
    assert document["lines_that_ran"] == len(document["lines"])
    line = document["lines"][0]
    assert (line["function"], line["times"]) == ("leaf", 10)
    assert line["file"].endswith("kernel.c")
    source = (vmlinux.parent / "kernel.c").read_text().splitlines()
    assert "long leaf(long n)" in source[line["line"] - 1]
    shares = [one["share"] for one in document["lines"]]
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) == pytest.approx(1)
    table = _profile("show", two_counts[0], "--kernel", vmlinux).stdout.split("\n\n")[2]
    _, first, *_, last = table.splitlines()
    assert first.endswith(f"{line['file']}:{line['line']} in leaf")
    count = len(shares)
    assert last == f"{count} of {count} lines that ran: 100.0% of the run"


def test_show_knows_no_lines_of_a_bare_kernel(tmp_path: Path) -> None:
    bare = make_vmlinux(tmp_path, "-g0")
    counts, leaf = tmp_path / "made.counts", symbols(bare)["leaf"]
    known = {"source": "linux-7.3.4", "machines": ("tcg",), "workloads": ("pipe", "fork")}
    write_counts(BranchCounts({(leaf, leaf + 2): 1}, {}, build_id(bare), **known), counts)
    told = _profile("show", counts, "--kernel", bare)
    assert told.returncode == 0, told.stderr
    for line in ("source:    linux-7.3.4", "workloads: pipe fork", "machine:   tcg"):
        assert line in told.stdout.splitlines()
    assert "100.00%              0  leaf" in told.stdout
    assert told.stdout.splitlines()[-1].startswith(f"lines: {bare} has no line tables")
    assert json.loads(_profile("show", counts, "--kernel", bare, "--json").stdout)["lines"] == []


def test_merge_and_diff(two_counts: tuple[Path, Path], tmp_path: Path) -> None:
    merged = tmp_path / "merged.counts"
    told = _profile("merge", *two_counts, "--weight", "1", "--weight", "3", "-o", merged)
    assert told.returncode == 0, told.stderr
    # The first executed 40 bytes of code, the second 3, which become three times 40.
    assert sorted(read_counts(merged).ranges.values()) == [1, 10 + 40]
    told = _profile("merge", *two_counts, "-o", merged, "--json")
    document = {"version": 1, "counts": str(merged), "workloads": []}
    assert json.loads(told.stdout) == document
    told = _profile("diff", *two_counts)
    assert told.stdout == "executed code: 90.9% in common\nbranches:      100.0% in common\n"


def test_files_of_counts_that_do_not_fit(
    vmlinux: Path, two_counts: tuple[Path, Path], tmp_path: Path
) -> None:
    foreign = tmp_path / "foreign.counts"
    write_counts(BranchCounts({(0, 1): 1}, {}, "ab" * 20), foreign)

    def refused(*words: "str | Path") -> str:
        told = _profile(*words)
        assert (told.returncode, told.stderr.count("\n")) == (2, 1)
        return told.stderr

    assert f"{foreign} is of another kernel" in refused("show", foreign, "--kernel", vmlinux)
    assert "different kernels" in refused("diff", foreign, two_counts[0])
    told = refused("merge", two_counts[0], foreign, "-o", tmp_path / "x")
    assert f"{two_counts[0]} and {foreign} are of different kernels" in told
    words = ["merge", *two_counts, "--weight", "1", "-o", tmp_path / "x"]
    assert "--weight must be given for each of the 2 files" in refused(*words)
    assert "is not a profile of kernsmith" in refused("show", vmlinux, "--kernel", vmlinux)
    write_counts(BranchCounts({}, {}, build_id(vmlinux)), foreign)
    assert "has no counts" in refused("show", foreign, "--kernel", vmlinux)


@pytest.mark.kernel
def test_what_is_recorded_is_converted(micro_kernel: Kernel, tmp_path: Path) -> None:
    exact, file = tmp_path / "exact.counts", tmp_path / "made" / "perf.data"
    words = ["--workload", "pipe", "--period", "499", "--json"]
    told = _profile("record", micro_kernel.folder, "--counts", exact, "--perf-data", file, *words)
    assert told.returncode == 0, told.stderr
    recorded = json.loads(told.stdout)
    assert recorded["kernel"] == micro_kernel.key
    assert recorded["samples"] == recorded["branches"] // 499 > 1000
    sampled = tmp_path / "sampled.counts"
    told = _profile(
        "convert", file, "--kernel", micro_kernel.key, "--to", "counts", "-o", sampled, "--json"
    )
    document = json.loads(told.stdout)
    assert document["samples"] == recorded["samples"]
    assert (document["build_id"], document["moved"]) == (micro_kernel.build_id, 0)
    common = json.loads(_profile("diff", exact, sampled, "--json").stdout)
    assert common["branches"] > 0.97
    assert common["code"] > 0.94


@pytest.mark.parametrize(
    ("weight", "told"),
    [
        ("nan", "--weight must be given for each of the 2 files, a number above 0"),
        ("inf", "--weight must be given for each of the 2 files, a number above 0"),
        ("-1", "--weight must be given for each of the 2 files, a number above 0"),
        ("1e308", "--weight must not be more than 1,000,000 times another one"),
        ("5e-324", "--weight must not be more than 1,000,000 times another one"),
    ],
)
def test_weights_that_are_none(weight: str, told: str, tmp_path: Path) -> None:
    files = (tmp_path / "a.counts", tmp_path / "b.counts")
    with pytest.raises(UserError) as caught:
        merge(files, output=tmp_path / "merged", weight=(float(weight), 1.0))
    assert str(caught.value) == told


@pytest.mark.parametrize("command", ["convert", "record", "show", "merge", "diff"])
def test_help_has_examples(command: str) -> None:
    told = _profile(command, "--help")
    assert told.returncode == 0
    assert f"kernsmith profile {command}" in told.stdout


@pytest.mark.parametrize("words", [("show", "a.counts"), ("match", "a.afdo")])
def test_what_is_no_kernel_is_told_in_a_sentence(tmp_path: Path, words: tuple[str, str]) -> None:
    write_counts(BranchCounts({(16, 32): 1}, {}, "ab"), tmp_path / "a.counts")
    (tmp_path / "a.afdo").write_text("f:10:1\n 1: 10\n")
    (tmp_path / "text").write_text("no kernel\n")
    told = _profile(words[0], tmp_path / words[1], "--kernel", tmp_path / "text")
    assert told.returncode == 2
    assert told.stderr.startswith(f"kernsmith: {tmp_path}/text is no vmlinux (")
    assert len(told.stderr.splitlines()) == 1


@pytest.mark.parametrize("word", ["w\xebb", "a\n3", "two words", ""])
def test_a_workload_that_the_file_cannot_have_is_refused(tmp_path: Path, word: str) -> None:
    words = ("--kernel", "k", "--to", "counts", "-o", tmp_path / "c", "--workload", word)
    told = _profile("convert", tmp_path / "perf.data", *words)
    assert told.returncode == 2
    assert "cannot stand in a file of counts: take printed ASCII without blanks" in told.stderr
    assert told.stderr.count("\n") == 1
