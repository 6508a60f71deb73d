# SPDX-License-Identifier: GPL-2.0-or-later
"""What one binary of each would have said, judged against what layouts say."""

from typing import Any

import pytest

from kernsmith.report.study.luck import add_luck, luck_lines, mix_by_layout


def document(
    ratio: float, ci: tuple[float, float] | None, default: float | None, significant: bool = True
) -> dict[str, Any]:
    """Two workloads, three layouts: those of A spread from -1 to +1 %."""
    runs = [
        {"variant": name, "block": block, "layout": layout, "workload": workload,
         "metrics": {"model_cycles": value * scale}}
        for name in ("A", "B")
        for block, layout, value in ((0, "default", 70.0), (1, "random:1.1", 99.0),
                                     (2, "random:1.2", 100.0), (3, "random:1.3", 101.0))
        for workload, scale in (("pipe", 1.0), ("file", 4.0))
    ]  # fmt: skip
    verdicts = [
        {"variant": "B", "workload": "overall", "metric": metric, "ratio": ratio, "ci": ci,
         "default_ratio": default, "significant": significant, "sentence": f"{metric} words"}
        for metric in ("model_cycles", "kernel_instructions")
    ]  # fmt: skip
    workloads = [{"name": "pipe"}, {"name": "file"}]
    study = {"metric": "model_cycles"}
    return {"study": study, "workloads": workloads, "runs": runs, "verdicts": verdicts}


def test_random_layouts_are_averaged_over_workloads() -> None:
    values = mix_by_layout(document(1.0, (0.9, 1.1), 1.0), "model_cycles")
    assert values["A"] == [
        (1, pytest.approx(198)),
        (2, pytest.approx(200)),
        (3, pytest.approx(202)),
    ]


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
    lines = luck_lines(add_luck(document(ratio, ci, default, significant)), "B")
    assert lines[0].startswith("where the code landed: layout alone moves one and the same kernel")
    assert "up to 2.00 %" in lines[0]
    assert told in lines[0]
    assert lines[1] == "instructions, which layout hardly touches: kernel_instructions words"


def test_one_layout_says_nothing_about_luck() -> None:
    assert add_luck(document(1.01, None, 1.01))["luck"] == []
