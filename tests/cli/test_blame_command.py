# SPDX-License-Identifier: GPL-2.0-or-later
"""`kernsmith blame` over kernels of names: what it ends with."""

import importlib
import json
from pathlib import Path

import pytest

from made_pair import NAMES, MadePair, made_pair

command = importlib.import_module("kernsmith.cli.blame")


def ends_with(pair: MadePair, test: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """The exit code of a search by a command. The two kernels are there, and everything else is
    as ever."""
    monkeypatch.setattr(command, "_built", lambda word: getattr(pair, word))
    monkeypatch.setattr(command, "_pair", lambda *asked: pair)
    code: int = command.blame(good="good", bad="bad", test=(test,), output=folder, json=True)
    return code


@pytest.mark.parametrize(
    ("own", "test", "code", "blamed"),
    [
        ("", f"sh -c '! grep -q {NAMES[7]} $1' sh", 0, [NAMES[7]]),
        ("", "true", 1, []),
        ("broken", "sh -c '! grep -q broken $1' sh", 1, []),
    ],
    ids=["an object is to blame", "the bad kernel is good", "the link is bad"],
)
def test_the_exit_code_says_whether_an_object_is_to_blame(
    own: str, test: str, code: int, blamed: list[str], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    pair = made_pair(tmp_path / "kernels", own)
    assert ends_with(pair, test, tmp_path / "found", monkeypatch) == code
    found = json.loads(capsys.readouterr().out)
    assert [each["object"] for each in found["blamed"]] == blamed
    assert found["link_is_bad"] == bool(own)
    assert (tmp_path / "found/blame.json").exists()
