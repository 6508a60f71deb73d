# SPDX-License-Identifier: GPL-2.0-or-later
"""Where results go is looked at before any work is done."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernsmith.cli import main

UNASKED = ("run", "resume", "optimize", "compare", "bisect", "watch", "blame")
FILES = (
    ["profile", "merge", "a.counts"],
    ["profile", "convert", "perf.data", "--kernel", "k"],
    ["profile", "carry", "a.afdo", "--kernel", "k"],
    ["layout", "sample", "k"],
    ["layout", "evaluate", "k", "--order", "o"],
    ["layout", "optimize", "k"],
    ["cpu", "calibrate", "emeraldrapids"],
    ["cpu", "patch", "tree"],
    ["report", "study"],
)
FOLDERS = (
    ["run", "study.toml"],
    ["resume"],
    ["optimize", "--source", "debian:7.3"],
    ["compare", "--source", "debian:7.3", "default", "CONFIG_HZ=1000"],
    ["bisect", "--good", "v1", "--bad", "v2"],
    ["watch", "--from", "v1"],
    ["blame", "--good", "a", "--bad", "b"],
    ["verify", "study"],
    ["package", "k"],
    ["export", "k", "--flags"],
    ["prove", "x.deb"],
    ["batch", "study.toml"],
    ["profile", "coverage", "a.counts"],
)


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    told = capsys.readouterr().err
    assert ended.value.code == 2, told
    return told


@pytest.mark.parametrize("words", FILES, ids=" ".join)
@pytest.mark.parametrize("folder", [".", "/", "results"])
def test_a_folder_is_no_file(
    words: list[str],
    folder: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results").mkdir()
    told = refused(capsys, *words, "-o", folder)
    assert told == f"kernsmith: {folder} is a folder: name the file that is to be written\n"


@pytest.mark.parametrize("words", FOLDERS, ids=" ".join)
def test_a_file_is_no_folder(
    words: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes").write_text("mine")
    told = refused(capsys, *words, "-o", "notes")
    assert told.startswith("kernsmith: notes is a file: name the folder")
    told = refused(capsys, *words, "-o", "notes/below")
    assert told == f"kernsmith: notes/below cannot be written: {tmp_path}/notes is no folder\n"
    assert (tmp_path / "notes").read_text() == "mine"


@pytest.mark.parametrize(
    "words",
    [
        ["profile", "record", "k", "--counts"],
        ["profile", "record", "k", "--perf-data"],
        ["profile", "coverage", "a.counts", "--lcov"],
        ["profile", "coverage", "a.counts", "--pprof"],
        ["layout", "sample", "k", "--report"],
        ["watch", "--from", "v1", "--comment"],
    ],
    ids=" ".join,
)
def test_a_folder_is_no_file_of_another_option(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert f"{tmp_path} is a folder" in refused(capsys, *words, str(tmp_path))


@pytest.mark.parametrize("command", UNASKED)
def test_help_tells_where_results_go_unasked(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main([command, "--help"])
    assert "kernsmith-results" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words",
    [
        ["profile", "merge", "in", "-o", "in"],
        ["profile", "merge", "in", "-o", "link"],
        ["profile", "convert", "in", "--kernel", "kernel", "-o", "in"],
        ["profile", "convert", "in", "--kernel", "kernel", "-o", "kernel"],
        ["profile", "carry", "in", "--kernel", "kernel", "-o", "in"],
        ["profile", "carry", "in", "--kernel", "kernel", "-o", "kernel"],
        ["profile", "coverage", "in", "--lcov", "in"],
        ["layout", "evaluate", "k", "--order", "in", "-o", "in"],
        ["layout", "sample", "k", "--cpu", "in", "--report", "in"],
        ["cpu", "patch", "in", "-o", "in"],
        ["report", "in.json", "-o", "in.json"],
    ],
    ids=" ".join,
)
def test_nothing_is_written_onto_what_is_read(
    words: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("in", "kernel", "in.json"):
        Path(name).write_text(name)
    Path("link").symlink_to("in")
    assert f"{words[-1]} is what is read here: write into another file" in refused(capsys, *words)
    assert [Path(name).read_text() for name in ("in", "kernel", "in.json")] == [
        "in", "kernel", "in.json"
    ]  # fmt: skip


@pytest.mark.parametrize(
    "words",
    [
        ["profile", "coverage", "in", "--lcov", "out", "--pprof", "./out"],
        ["profile", "coverage", "in", "--lcov", "out", "-o", "out"],
        ["profile", "record", "k", "--counts", "out", "--perf-data", "out"],
        ["layout", "optimize", "k", "-o", "out", "--report", "out"],
    ],
    ids=" ".join,
)
def test_no_place_is_written_twice(
    words: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in").write_text("in")
    assert "is to be written twice" in refused(capsys, *words)
    assert not Path("out").exists()
