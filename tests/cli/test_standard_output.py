# SPDX-License-Identifier: GPL-2.0-or-later
"""Standard output as it comes: in any encoding, into a pipe that closes, as wide as it is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kernsmith.cli.console import result_console, text_width

HELP = [sys.executable, "-m", "kernsmith", "analyze", "--help"]


@pytest.mark.parametrize(
    "environment",
    [
        {"PYTHONIOENCODING": "ascii"},
        {"PYTHONIOENCODING": "latin-1"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    ],
    ids=str,
)
def test_letters_that_the_encoding_has_not(environment: dict[str, str]) -> None:
    done = subprocess.run(HELP, env=os.environ | environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert b"Usage: kernsmith analyze" in done.stdout


def test_a_pipe_that_closes_ends_it_silently() -> None:
    with subprocess.Popen(HELP, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as command:
        assert command.stdout is not None and command.stderr is not None
        command.stdout.close()
        assert command.stderr.read() == b""
        assert command.wait(timeout=60) == 0


def test_output_that_is_refused_is_told() -> None:
    refused = ["sh", "-c", '"$@" > /dev/full', "sh", *HELP]
    done = subprocess.run(refused, capture_output=True, check=False)
    assert done.returncode == 2
    assert done.stderr == b"kernsmith: standard output: No space left on device\n"


def test_a_working_folder_that_was_removed_is_told(tmp_path: Path) -> None:
    words = [*HELP[:3], "optimize", "--source", ".", "--config", "micro", "--workload", "pipe"]
    gone = ["sh", "-c", 'cd "$0" && rmdir "$0" && "$@"', str(tmp_path / "gone"), *words]
    (tmp_path / "gone").mkdir()
    done = subprocess.run(gone, capture_output=True, check=False)
    assert done.returncode == 2
    assert done.stderr == b"kernsmith: the working folder was removed: change to another one\n"


def test_no_output_at_all() -> None:
    closed = ["sh", "-c", '"$@" >&-', "sh", *HELP]
    done = subprocess.run(closed, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize(("columns", "table", "text"), [(None, 120, 100), ("80", 80, 80)])
def test_without_a_terminal_columns_say_how_wide_it_is(
    columns: str | None,
    table: int,
    text: int,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns is not None:
        monkeypatch.setenv("COLUMNS", columns)
    assert result_console().width == table
    assert text_width() == text
