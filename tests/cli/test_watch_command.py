# SPDX-License-Identifier: GPL-2.0-or-later
"""What `kernsmith watch` refuses, each in one sentence, before anything is built."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from kernsmith.cli import main


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "linux"
    folder.mkdir()
    git = ["git", "-c", "user.name=n", "-c", "user.email=e@example.org", "-C", str(folder)]
    subprocess.run([*git, "init", "-q"], check=True)
    for number in range(3):
        subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", str(number)], check=True)
    return folder


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--from", "HEAD~7"), "has no revision HEAD~7"),
        (("--from", "HEAD"), "there is nothing between them"),
        (("--from", "HEAD", "--to", "HEAD~2"), "does not come from"),
        (("--from", "HEAD~2", "--every", "0"), "--every takes a number of commits, or tag"),
        (("--from", "HEAD~2", "--tags", "v7.*"), "--tags 'v7.*' chooses among tags: it needs --ev"),
        (("--from", "HEAD~2", "--layouts", "1"), "one layout is only luck"),
        (("--from", "HEAD~2", "--fail-above", "much"), "--fail-above takes per cent"),
        (("--from", "HEAD~2", "--least", "-1"), "--least takes per cent"),
        (("--from", "HEAD~2", "--commit-url", "https://git.example.org/"), "with %s for the hash"),
        (("--from", "HEAD~2", "--commit-url", "javascript:%s"), "with %s for the hash"),
        (("--from", "HEAD~2", "--commit-url", "https://e.org/%t"), "only with --every tag"),
        (("--from", "HEAD~2", "--workload", "nothing"), "there is no workload 'nothing'"),
        (("--from", "HEAD~2", "--machine", "self"), "`kernsmith run STUDY --machine self`"),
    ],
)
def test_bad_input_is_one_sentence(
    repository: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["watch", "--source", str(repository), *words])
    assert ended.value.code == 2
    lines = [line for line in capsys.readouterr().err.splitlines() if line.strip()]
    assert said in " ".join(lines)
    assert sum(line.startswith("kernsmith: ") for line in lines) == 1


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("git:{}@HEAD~2", "there is nothing between them"),  # the newest is the oldest
        ("git:{}", "--every takes a number"),
        ("debian:7.3", "has no history"),
        ("git:{}@", "write it as git:FOLDER@REVISION"),
    ],
)
def test_a_source_may_be_written_as_in_studies(
    repository: Path, capsys: pytest.CaptureFixture[str], source: str, said: str
) -> None:
    every = ["--every", "0"] if said.startswith("--every") else []
    with pytest.raises(SystemExit) as ended:
        main(["watch", "--source", source.format(repository), "--from", "HEAD~2", *every])
    assert ended.value.code == 2
    assert said in " ".join(capsys.readouterr().err.split())


def test_a_folder_that_is_no_repository_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["watch", "--source", str(tmp_path / "none"), "--from", "v1"])
    assert ended.value.code == 2
    assert "there is no folder" in capsys.readouterr().err
