# SPDX-License-Identifier: GPL-2.0-or-later
"""Files are recognised by content, and whatever is wrong with one is told in a sentence."""

import gzip
import json
import lzma
from pathlib import Path

import pytest
from harness_files import FOLDER
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kernsmith.errors import UserError
from kernsmith.harness import Asked, read_harness, recognise
from kernsmith.stats.analysis import Options, analyse

FORMATS = {
    "composite.xml": "Phoronix Test Suite",
    "go-new.txt": "Go",
    "go-old.txt": "Go",
    "hyperfine-scan.json": "hyperfine",
    "hyperfine.json": "hyperfine",
    "kcbench-0.4.1.txt": "kcbench",
    "kcbench-0.4.txt": "kcbench",
    "kcbench-0.9.4.txt": "kcbench",
    "kcbench.txt": "kcbench",
    "lkp-new.json": "lkp",
    "lkp-old.json": "lkp",
    "lkp-patched.json": "lkp",
    "lkp-vanilla.json": "lkp",
    "mmtests-both.json": "mmtests",
    "mmtests-compared.json.zst": "mmtests",
    "mmtests-compared.txt": "mmtests",
    "mmtests-extracted.json": "mmtests",
    "mmtests-old.json": "mmtests",
    "mmtests-table.txt": "mmtests",
    "perf-stat-interval.csv": "perf stat",
    "perf-stat-repeated.csv": "perf stat",
    "perf-stat.csv": "perf stat",
    "phoronix-hash.xml": "Phoronix Test Suite",
    "pyperf-new.json": "pyperf",
    "pyperf-old.json": "pyperf",
}


def test_every_file_is_known_by_its_content(tmp_path: Path) -> None:
    files = sorted(path.name for path in FOLDER.iterdir() if path.suffix != ".md")
    assert files == sorted(FORMATS)
    for name, format_of in FORMATS.items():
        unnamed = tmp_path / "results"
        unnamed.write_bytes((FOLDER / name).read_bytes())
        found = recognise(unnamed)
        assert found is not None and found[0].name == format_of, name


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
def test_packed_files_are_unpacked(tmp_path: Path, pack: object) -> None:
    assert callable(pack)
    file = tmp_path / "matrix.json.packed"
    file.write_bytes(pack((FOLDER / "lkp-old.json").read_bytes()))
    found = recognise(file)
    assert found is not None and found[0].name == "lkp"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "g,v\na,1\nb,2\n",
        "1.5,2.5\n1,2\n",
        "time,unit\n3,s\n",
        "Benchmarking is hard\n",
        "{}",
        "[1, 2]",
        '{"results": [], "benchmarks": 3}',
        '{"a": [1, 2], "b": [3]}',
        "<html></html>",
        "\x00\x01\x02",
    ],
)
def test_what_is_of_no_harness(tmp_path: Path, text: str) -> None:
    file = tmp_path / "file"
    file.write_text(text)
    assert recognise(file) is None


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"results": [{"command": "a", "times": "x"}]}', "(hyperfine): results.0.times: input"),
        ('{"results": [{"command": "a", "times": []}]}', "'a' has no times of its runs"),
        ('{"results": [{"command": "a", "times": [1e999]}]}', "a: values must be finite, not inf"),
        ('{"version": "1.0", "benchmarks": [{}]}', "(pyperf): pyperf cannot read it"),
        ('{"a.b": [1, "x"]}', "(lkp): a.b[1] is not a number"),
        ('{"a.b": []}', "(lkp): it holds no values"),
        ('{"_ResultData": {"a": 3}}', "(mmtests): _ResultData.a: input should be a valid list"),
        ('{"_ResultData": {"a": [{"Values": ["x"]}]}}', "(mmtests): a: 'x' is not a number"),
        ("Amean a 1.0 ( 0.00%) 2.0 ( 1.00%)", "above its table no kernels are named"),
        ("x\nAmean a 1.0 ( 0.00%) 2.0 ( 1.00%)", "line 2: 2 values, but 1 kernels are named"),
        ("<PhoronixTestSuite><Result>", "(Phoronix Test Suite): not well-formed XML"),
        ("<!DOCTYPE a><PhoronixTestSuite/>", "it declares a document type"),
        ("<PhoronixTestSuite/>", "it holds no values"),
        ("BenchmarkA 1 12 ns/op 3", "(Go): line 1: a value without a unit"),
        ("BenchmarkA 1 fast ns/op", "(Go): line 1: 'fast' is not a number"),
        ("      │ old.txt │\n      │ sec/op │", "this is benchstat's table"),
        ("Run 1 (-j 4): 1e99 seconds / 3 kernels/hour", "line 1: 1e+99 is not between"),
        ("S0-D0-C0,1,2.5,msec,task-clock,1,100.00,,", "measure without -A and --per-…"),
        (" Performance counter stats for 'ls':\n\n 1 cycles", "measure with perf stat -x,"),
    ],
)
def test_what_is_broken_is_told(tmp_path: Path, text: str, sentence: str) -> None:
    file = tmp_path / "file"
    file.write_text(text)
    with pytest.raises(UserError) as caught:
        recognise(file)
    assert sentence in str(caught.value)
    assert str(file) in str(caught.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is no file"):
        recognise(tmp_path / "none")
    with pytest.raises(UserError, match="is a folder"):
        recognise(tmp_path)
    cut = tmp_path / "cut.gz"
    cut.write_bytes(gzip.compress((FOLDER / "lkp-old.json").read_bytes())[:60])
    with pytest.raises(UserError, match="cannot be unpacked"):
        recognise(cut)


PIECES = st.sampled_from(
    [b"", b"0", b"-1", b"1e999", b"NaN", b"null", b'"x"', b"[]", b"{}", b",", b":", b"\n", b"%",
     b"<a>", b"</Entry>", b"\xff", b"\0", b"<not counted>", b"1e400", b"9" * 400,
     b"(-j x)", b" ns/op"]
)  # fmt: skip
EDITS = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 30), PIECES), min_size=1, max_size=4)


@pytest.mark.parametrize("name", sorted(FORMATS))
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(edits=EDITS)
def test_a_damaged_file_is_read_or_refused_in_a_sentence(
    tmp_path: Path, name: str, edits: list[tuple[float, int, bytes]]
) -> None:
    content = (FOLDER / name).read_bytes()
    for place, length, piece in edits:
        start = int(place * len(content))
        content = content[:start] + piece + content[start + length :]
    _read_or_refuse(tmp_path / "damaged", content)


LEAVES = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=4))
KEYS = st.sampled_from(
    ["results", "command", "times", "benchmarks", "version", "runs", "values", "metadata", "a.b",
     "stats_source", "_ResultData", "_ExtractModules", "Values", "_TestName", "parameters"]
)  # fmt: skip
TREES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4)
)


@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(tree=st.dictionaries(KEYS, TREES, min_size=1, max_size=4))
def test_any_json_is_read_or_refused_in_a_sentence(tmp_path: Path, tree: dict[str, object]) -> None:
    _read_or_refuse(tmp_path / "any", json.dumps(tree).encode())


def test_json_that_nests_without_end_is_of_no_harness(tmp_path: Path) -> None:
    _read_or_refuse(tmp_path / "deep", b"[" * 200_000)


def _read_or_refuse(file: Path, content: bytes) -> None:
    """Read and analysed, or refused in one line that names the file."""
    file.write_bytes(content)
    try:
        found = read_harness([file], Asked())
    except UserError as refusal:
        assert str(file) in str(refusal)
        assert "\n" not in str(refusal)
        return
    if found is not None:
        analyse(found.reading.strata, Options(found.by, found.value, found.within))
