# SPDX-License-Identifier: GPL-2.0-or-later
"""Two computers that use one machine: what its shell is asked to do, by this system's."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from kernsmith import process
from kernsmith.errors import ProcessFailed
from kernsmith.machine.remote.host import owner
from kernsmith.machine.remote.scripts import LEAVE_FREE, TAKE


def take(folder: Path, name: str, seconds: int = 100) -> list[str]:
    script = f"set -- {folder} {name} {seconds}\n{TAKE}"
    return process.run(["sh", "-c", script], timeout=60).output.split()


def free(folder: Path, name: str) -> None:
    process.run(["sh", "-c", f"set -- {folder} {name}\n{LEAVE_FREE}"], timeout=60, check=False)


def test_who_comes_second_is_told_who_has_it_and_for_how_long(tmp_path: Path) -> None:
    assert take(tmp_path / "k", "me@here-1") == ["me@here-1", "0"]
    name, seconds = take(tmp_path / "k", "you@there-2")
    assert name == "me@here-1"
    assert 90 <= int(seconds) <= 100


def test_who_has_it_may_ask_again_and_nobody_else_can_free_it(tmp_path: Path) -> None:
    take(tmp_path, "me@here-1")
    assert take(tmp_path, "me@here-1", 500) == ["me@here-1", "0"]
    free(tmp_path, "you@there-2")
    name, seconds = take(tmp_path, "you@there-2")
    assert name == "me@here-1"
    assert int(seconds) > 400
    free(tmp_path, "me@here-1")
    assert take(tmp_path, "you@there-2")[0] == "you@there-2"


def test_the_time_of_one_who_never_came_back_is_over_then(tmp_path: Path) -> None:
    take(tmp_path, "me@here-1", 0)
    time.sleep(1.1)
    assert take(tmp_path, "you@there-2")[0] == "you@there-2"
    assert [path.name for path in tmp_path.iterdir()] == ["used-by"]


def test_a_folder_that_cannot_be_written_to_is_no_other_computer(tmp_path: Path) -> None:
    """As on a disk that is full, or has become read-only."""
    (tmp_path / "file").touch()
    with pytest.raises(ProcessFailed, match="mkdir"):
        take(tmp_path / "file", "me@here-1")
    (tmp_path / "used-by").write_text("")
    (tmp_path / "used-by.me@here-1").mkdir()
    with pytest.raises(ProcessFailed, match="used-by"):
        take(tmp_path, "me@here-1")


def test_an_owner_is_one_word_for_a_shell() -> None:
    assert owner() == owner()
    assert process.run(["sh", "-c", f"echo {owner()}"], timeout=60).output == f"{owner()}\n"
