# SPDX-License-Identifier: GPL-2.0-or-later
"""`kernsmith cpu calibrate`: what cannot be calibrated is said before anything is timed."""

from __future__ import annotations

from pathlib import Path

import pytest

from cpu_models import PENALTIES
from kernsmith import paths
from kernsmith.cli import main

MODEL = str(paths.shipped("cpus/emeraldrapids.toml"))


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([str(PENALTIES)], "it cannot be calibrated"),
        ([MODEL, "--program", "lua"], "those that judge do not calibrate"),
        ([MODEL, "--build", "O2"], "calibrate needs a --build beside the baseline"),
        ([MODEL, "--layouts", "2"], "calibrate needs --layouts 3 or more"),
        ([MODEL, "--others", "-1"], "calibrate needs no negative --others"),
        ([MODEL, "--rounds", "0"], "calibrate needs --rounds 1 or more"),
        ([MODEL, "--program", "emacs"], "there is no program 'emacs'"),
        (["no-such-model.toml"], "there is no cpu model 'no-such-model.toml'"),
    ],
)
def test_what_cannot_be_calibrated_is_said(
    words: list[str], sentence: str, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    output = tmp_path / "calibrated.toml"
    with pytest.raises(SystemExit) as ended:
        main(["cpu", "calibrate", *words, "-o", str(output)])
    assert ended.value.code == 2
    said = capfd.readouterr().err
    assert sentence in " ".join(said.split())
    assert "Traceback" not in said
    assert not output.exists()


@pytest.mark.parametrize("word", ["--output", "--judged"])
def test_a_file_in_no_folder_is_refused_before_an_hour_of_work(
    word: str, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["cpu", "calibrate", MODEL, word, str(tmp_path / "none" / "file")])
    assert ended.value.code == 2
    assert f"{word} {tmp_path / 'none' / 'file'}: there is no folder" in capfd.readouterr().err


@pytest.mark.parametrize("way", [["--build", "Os"], ["--study", "study.toml"]], ids=str)
@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (bytes(range(256)), "UTF-8"),
        (b"[decoupled\n", "no valid TOML in line 1"),
        (b"a = " + b"[" * 1000, "no valid TOML in line 1"),
        (b"line_bytes = 'x'", "line_bytes: must be a"),
    ],
    ids=("binary", "broken", "deep", "wrong"),
)
def test_a_model_that_is_none_is_refused(
    way: list[str],
    content: bytes,
    sentence: str,
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.toml").write_bytes(content)
    Path("study.toml").write_text((paths.shipped("studies") / "aa.toml").read_text())
    with pytest.raises(SystemExit) as ended:
        main(["cpu", "calibrate", "mine.toml", *way])
    assert ended.value.code == 2
    said = capfd.readouterr().err
    assert said.startswith("kernsmith: CPU model mine.toml: ") and sentence in said
