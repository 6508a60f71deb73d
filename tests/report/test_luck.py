# SPDX-License-Identifier: GPL-2.0-or-later
"""What one binary of each would have said, judged against what layouts say."""

import pytest

from documents import study_document, verdict
from kernsmith.report.study.luck import luck_lines


def test_random_layouts_are_averaged_over_workloads() -> None:
    mix = study_document([verdict(1.0, (0.9, 1.1))]).mixes[0]
    assert (mix.variant, mix.metric) == ("A", "model_cycles")
    assert mix.values == (
        (1, pytest.approx(198)),
        (2, pytest.approx(200)),
        (3, pytest.approx(202)),
    )
    assert (mix.low, mix.high) == pytest.approx((-1, 1), abs=0.01)


@pytest.mark.parametrize(
    ("ratio", "ci", "default", "significant", "told"),
    [
        (1.005, (1.004, 1.006), 1.0045, True, "+0.45 %: about right this time"),
        (1.005, (1.004, 1.006), 0.98, True, "-2.00 %: the wrong way round"),
        (1.005, (1.004, 1.006), 1.015, True, "+1.50 %: 3.0 times the change, the rest is layout"),
        (1.01, (1.008, 1.012), 1.005, True, "+0.50 %: only 50% of the change, layout hides"),
        (1.0, (0.999, 1.001), 1.02, False, "+2.00 %: layout, not the change"),
        (1.01, (0.97, 1.05), 1.02, False, "+2.00 %: layouts neither confirm nor deny it"),
    ],
)
def test_the_single_binaries_are_judged(
    ratio: float, ci: tuple[float, float], default: float, significant: bool, told: str
) -> None:
    cycles = verdict(ratio, ci, default_ratio=default, significant=significant)
    instructions = verdict(1.0, (1.0, 1.0), metric="kernel_instructions", sentence="few words")
    lines = luck_lines(study_document([cycles, instructions]), "B")
    assert lines[0].startswith("where the code landed: layout alone moves one and the same kernel")
    assert "up to 2.00 %" in lines[0]
    assert told in lines[0]
    assert lines[1] == "instructions, which layout hardly touches: few words"


def test_one_layout_says_nothing_about_luck() -> None:
    assert study_document([verdict(1.01, None, default_ratio=1.01)]).luck == ()
