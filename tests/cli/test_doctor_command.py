# SPDX-License-Identifier: GPL-2.0-or-later
"""`kernsmith doctor`: its table, its JSON and its exit code."""

import json
from pathlib import Path

import pytest

from kernsmith.cli.doctor import doctor
from kernsmith.doctor import MISSING


def test_an_empty_machine_gets_a_remedy_for_everything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert doctor(json=True) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["version"] == 1
    absent = {found["name"]: found for found in document["findings"] if found["status"] == MISSING}
    assert {"clang", "ld.lld", "llvm-profgen", "QEMU", "make", "flex", "perl"} <= absent.keys()
    assert all(found["remedy"] for found in absent.values())


def test_the_table_shows_what_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    doctor()
    printed = capsys.readouterr().out
    assert "QEMU" in printed
    assert "branch records" in printed
