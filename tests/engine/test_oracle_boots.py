# SPDX-License-Identifier: GPL-2.0-or-later
"""Boots of oracles: an exact machine is asked once, and what has ended badly again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kernsmith.engine.oracle_boots import Question, answered, ask
from kernsmith.engine.workers import LocalWorkers
from kernsmith.errors import KernsmithError
from kernsmith.guest.workloads import load_catalogue
from kernsmith.kernel.artifact import Kernel
from kernsmith.machine import Outcome, find_machine

pytestmark = pytest.mark.kernel


def silent(value: object) -> None:
    pass


def question(kernel: Kernel, folder: Path, rounds: int, seconds: float = 60.0) -> Question:
    """rounds: in one test as in no other, so that none finds what another has left."""
    (workload,) = load_catalogue().select(["null-syscall"])
    machine = find_machine("tcg", "skylake", {"time_limit": seconds})
    return Question(machine, kernel.key, replace(workload, rounds=rounds, warmup=0), folder)


def test_what_was_asked_is_not_booted_again(micro_kernel: Kernel, tmp_path: Path) -> None:
    first = ask(silent, question(micro_kernel, tmp_path / "first", 1))
    again = ask(silent, question(micro_kernel, tmp_path / "again", 1))
    assert first.ok and again.ok
    assert again.boot.started_at == first.boot.started_at
    assert again.console == tmp_path / "again" / "console.log"
    assert again.console.read_text() == first.console.read_text()
    assert "kernsmith: end null-syscall status=0" in again.console.read_text()
    other = ask(silent, question(micro_kernel, tmp_path / "other", 2))
    assert other.boot.started_at != first.boot.started_at


def test_what_has_ended_badly_is_asked_again(micro_kernel: Kernel, tmp_path: Path) -> None:
    asked = [question(micro_kernel, tmp_path / name, 3, 0.3) for name in ("first", "again")]
    first, again = (ask(silent, each) for each in asked)
    assert (first.status, again.status) == ("hang", "hang")
    assert again.boot.started_at != first.boot.started_at


def test_all_are_answered_and_told(micro_kernel: Kernel, tmp_path: Path) -> None:
    asked = [question(micro_kernel, tmp_path / str(rounds), rounds) for rounds in (4, 5, 6)]
    told: list[int] = []
    ended: dict[Question, Outcome | KernsmithError] = answered(asked, LocalWorkers(), told.append)
    assert told == [0, 1, 2, 3]
    assert list(map(type, ended.values())) == [Outcome] * 3
    assert {each.folder for each in ended} == {each.folder for each in asked}
