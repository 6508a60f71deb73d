# SPDX-License-Identifier: GPL-2.0-or-later
"""How long each stage took."""

from kernsmith.engine import Silent
from kernsmith.engine.events import Clocked


class Titles(Silent):
    def __init__(self) -> None:
        self.said: list[str] = []

    def stage(self, title: str) -> None:
        self.said.append(title)


def test_a_stage_lasts_until_the_next_one_and_one_title_is_one_step() -> None:
    times = iter([0.0, 10.0, 13.0, 20.0, 21.5])
    listener = Titles()
    clocked = Clocked(listener, lambda: next(times))
    for title in ("kernel A", "replay", "kernel A", "trials"):
        clocked.stage(title)
    assert clocked.steps() == (("kernel A", 17.0), ("replay", 3.0), ("trials", 1.5))
    assert listener.said == ["kernel A", "replay", "kernel A", "trials"]


def test_without_a_stage_there_are_no_steps() -> None:
    assert Clocked(Silent()).steps() == ()
