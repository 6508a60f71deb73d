# SPDX-License-Identifier: GPL-2.0-or-later
"""`kernsmith measure` as its users call it, with real commands."""

import json
import sqlite3
from pathlib import Path

import pytest

from kernsmith import paths
from kernsmith.cli import main
from kernsmith.cli.measure import split


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["measure", *words])
    assert isinstance(ended.value.code, int)
    return ended.value.code


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNSMITH_CACHE", str(tmp_path))


def test_two_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--runs", "6", "--", "true", "--", "sh", "-c", "sleep 0.1") == 0
    text = capsys.readouterr().out
    assert "sh -c 'sleep 0.1' takes" in " ".join(text.split())
    assert "more time than true" in " ".join(text.split())
    assert "build id" in text


def test_json_of_a_command_with_options_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--json", "--runs", "2", "--", "sh", "-c", ":", "--debug", "--runs", "9") == 0
    document = json.loads(capsys.readouterr().out)
    (command,) = document["commands"]
    assert (command["command"], command["runs"]) == ("sh -c : --debug --runs 9", 2)
    assert command["metrics"]["seconds"]["mean"] > 0
    assert document["comparisons"] == []


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        ((), 2, "a command is missing: kernsmith measure -- COMMAND"),
        (("--", "nosuch"), 2, "there is no program 'nosuch' to run"),
        (("--", "true", "--", "true"), 2, "a command is given twice"),
        (("--", "true", "\udcff"), 2, "the command \"true '\\udcff'\" is no text in UTF-8"),
        (("--", "false"), 1, "false ended with exit code 1 (--ignore-failure"),
    ],
)
def test_mistakes_are_told_in_a_sentence(
    words: tuple[str, ...], code: int, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*words) == code
    assert sentence in capsys.readouterr().err


def test_what_a_command_says_that_failed_is_printed_without_control_characters(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = r"printf '\033]0;owned\007\033[31mred\n' >&2; exit 3"
    assert run("--runs", "1", "--", "sh", "-c", words) != 0
    told = capsys.readouterr().err
    assert "ended with exit code 3" in told and "red" in told
    assert "\x1b" not in told and "\a" not in told


def test_who_stops_it_is_told_what_is_kept(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stopped(number: int, place: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("kernsmith.cli.measure._tell", stopped)
    assert run("--warm-up", "0", "--", "true") == 130
    told = "kernsmith: stopped; the runs that have ended are in the ledger, and the same"
    assert capsys.readouterr().err.startswith(told)
    with sqlite3.connect(paths.ledger()) as ledger:
        assert ledger.execute("select count(*) from runs").fetchone() == (1,)


def test_commands_between_separators() -> None:
    assert split(["a", "-x", "--", "b", "--", "--", "c"]) == [("a", "-x"), ("b",), ("c",)]
