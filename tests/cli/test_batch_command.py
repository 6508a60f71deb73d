# SPDX-License-Identifier: GPL-2.0-or-later
"""`kernsmith batch`, `resume` and `run --machine`, as far as no computer boots."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernsmith.cli import main
from kernsmith.study.file import read_study
from kernsmith.study.machines import on_machine

STUDY = """\
[source]
use = "debian:7.3"
config = "micro"

[machine]
use = "tcg"

[workloads]
use = ["pipe"]

[factors]
label = ["a", "b"]

[design]
layouts = 2
"""


def told(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str]:
    with pytest.raises(SystemExit) as ended:
        main(list(map(str, words)))
    assert isinstance(ended.value.code, int)
    return ended.value.code, " ".join(capsys.readouterr().err.split())


@pytest.fixture
def study(tmp_path: Path) -> Path:
    path = tmp_path / "seconds.toml"
    path.write_text(STUDY)
    return path


def test_nothing_is_read_where_nothing_was_prepared(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    code, said = told(capsys, "resume")
    assert code == 2
    assert said.endswith("nothing was prepared for this computer: kernsmith run --machine self")


def test_a_folder_that_is_none_is_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, said = told(capsys, "resume", tmp_path)
    assert code == 2
    assert "is no folder of kernsmith batch" in said
    (tmp_path / "trials.json").write_text('{"format": 1, "trials": ')
    code, said = told(capsys, "resume", tmp_path)
    assert code == 2
    assert "trials.json is damaged" in said


def test_a_folder_that_is_there_is_never_written_into(
    capsys: pytest.CaptureFixture[str], study: Path, tmp_path: Path
) -> None:
    code, said = told(capsys, "batch", study, "-o", tmp_path, "--host", "lab")
    assert code == 2
    assert "is there already: name a folder that is not" in said


def test_a_plan_that_is_made_before_has_a_number_of_layouts(
    capsys: pytest.CaptureFixture[str], study: Path, tmp_path: Path
) -> None:
    study.write_text(STUDY.replace("layouts = 2", "layouts = 2\nmost_layouts = 8\nuntil = 0.5"))
    code, said = told(capsys, "batch", study, "-o", tmp_path / "new", "--host", "lab")
    assert code == 2
    assert "say the number of layouts by design.layouts" in said


def test_a_study_is_moved_to_another_machine_without_what_was_the_firsts(study: Path) -> None:
    study.write_text(STUDY.replace('use = "tcg"', 'use = "tcg"\nsettings = { slots = 1 }'))
    asked = read_study(study)
    moved = on_machine(asked, "ssh:lab1")
    assert (moved.machine, moved.settings, moved.cpu) == ("ssh:lab1", (), "")
    assert moved.name == asked.name
    assert on_machine(asked, "tcg").settings == asked.settings
