# SPDX-License-Identifier: GPL-2.0-or-later
"""Cores that a neighbour shares, by what they take in a cycle."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import pytest

from kernsmith.silicon.shared_core import Cores, Quiet, quiet_on
from kernsmith.silicon.timing import last_processor, take_turns
from turning_programs import turning_program

ALONE, SHARED = Quiet(8.0, 500), Quiet(4.1, 500)
INTERRUPTED = Quiet(8.0, 20_000)


class Neighbours:
    """Cores by what they take, one answer after the other; the last one stays."""

    def __init__(self, **takes: list[Quiet]) -> None:
        self.takes = {int(name[1:]): list(answers) for name, answers in takes.items()}

    def __call__(self, processor: int) -> Quiet:
        answers = self.takes[processor]
        return answers.pop(0) if len(answers) > 1 else answers[0]


def kept_at(folder: Path, quiet: Quiet) -> Path:
    file = folder / "ipc"
    file.write_text(f"{quiet.ipc}\n")
    return file


@pytest.mark.skipif(platform.machine() != "x86_64", reason="only x86-64 has such a counter")
def test_this_processor_takes_one_instruction_a_cycle_or_more_and_where_it_runs_stays() -> None:
    before = os.sched_getaffinity(0)
    quiet = quiet_on(last_processor())
    assert 1 < quiet.ipc < 16
    assert 0 <= quiet.interrupted < 1e6
    assert os.sched_getaffinity(0) == before


def test_the_processor_whose_core_is_not_shared_is_taken(tmp_path: Path) -> None:
    ask = Neighbours(p1=[SHARED], p0=[ALONE])
    cores = Cores([1, 0], patience=0, kept=kept_at(tmp_path, ALONE), ask=ask)
    assert cores.take() == (0, ALONE)
    ask.takes[1] = [ALONE]
    assert cores.take() == (0, ALONE)  # it stays where it was


def test_a_core_of_its_own_is_waited_for_and_then_no_longer(tmp_path: Path) -> None:
    notes: list[str] = []
    ask = Neighbours(p1=[SHARED, SHARED, ALONE])
    file = kept_at(tmp_path, ALONE)
    assert Cores([1], 60, file, notes.append, ask).take() == (1, ALONE)
    cores = Cores([1], 0.1, file, notes.append, Neighbours(p1=[SHARED]))
    assert cores.take() == (1, SHARED)
    assert not cores.patient
    assert not cores.alone(SHARED)
    assert not cores.alone(INTERRUPTED)
    assert cores.alone(ALONE)
    assert notes == []


def test_what_takes_long_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(0, 1000, 4))
    monkeypatch.setattr("time.monotonic", lambda: float(next(clock)))
    notes: list[str] = []
    cores = Cores([1], 30, kept_at(tmp_path, ALONE), notes.append, Neighbours(p1=[SHARED]))
    cores.take()
    assert len(notes) == 1
    assert "(4.1 instructions a cycle, 500 interruptions a second; alone: 8.0, " in notes[0]


def test_the_most_that_was_seen_is_kept_when_it_was_seen_twice(tmp_path: Path) -> None:
    file = tmp_path / "ipc"
    cores = Cores([1], 0, file, ask=Neighbours(p1=[SHARED, Quiet(12.0, 0), SHARED, ALONE, ALONE]))
    for expected in (SHARED, SHARED, ALONE):
        while cores.quiet(1).ipc < expected.ipc:
            pass
        assert cores.most == pytest.approx(expected.ipc)
    assert Cores([1], 0, file, ask=Neighbours(p1=[SHARED])).most == pytest.approx(ALONE.ipc)
    for text in ("nothing\n", "nan\n", "inf\n"):
        file.write_text(text)
        assert Cores([1], 0, file).most == 0


@pytest.mark.parametrize("wrong", [SHARED, INTERRUPTED])
def test_a_run_that_shared_its_core_is_made_anew(tmp_path: Path, wrong: Quiet) -> None:
    """Before the first run it was alone, behind it not; then it was. With no patience it counts,
    and is told from the others."""
    program = turning_program(tmp_path / "one/program", [1000])
    file = kept_at(tmp_path, ALONE)
    here = last_processor()
    answers = {f"p{here}": [ALONE, wrong, ALONE]}

    def failed(place: int, error: Exception) -> None:
        raise error

    (runs,) = take_turns([program], 2, Cores([here], 60, file, ask=Neighbours(**answers)), failed)
    assert [run.alone for run in runs] == [True, True]
    assert len((program.parent / "turns.log").read_text().split()) == 4
    (runs,) = take_turns(
        [program], 2, Cores([here], 0, file, ask=Neighbours(**{f"p{here}": [wrong]})), failed
    )
    assert [run.alone for run in runs] == [False, False]


def test_runs_made_before_a_core_was_seen_alone_are_made_anew(tmp_path: Path) -> None:
    program = turning_program(tmp_path / "one/program", [1000])
    here = last_processor()
    # Warming up and the first run on a shared core, of which nothing better was known.
    answers = [SHARED, SHARED, SHARED, SHARED, SHARED, ALONE]
    cores = Cores([here], 60, ask=Neighbours(**{f"p{here}": answers}))
    (runs,) = take_turns([program], 3, cores, lambda place, error: None)
    assert [run.alone for run in runs] == [True] * 3
    assert cores.most == ALONE.ipc
