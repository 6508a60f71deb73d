# SPDX-License-Identifier: GPL-2.0-or-later
"""What a workload asks of the kernel, from the runs of a study."""

import pytest

from kernsmith.document import RunView
from kernsmith.engine.stress import hottest_costs, kernel_share, layout_spread


def run(layout: str, **metrics: float) -> RunView:
    return RunView(0, 0, "A", layout, "pipe", 0, "", "ok", None, None, metrics)


def test_the_share_is_of_a_run_that_counted_both_modes() -> None:
    replayed = run("random:1.1", kernel_instructions=80.0)
    booted = run("default", kernel_instructions=90.0, user_instructions=30.0)
    assert kernel_share([replayed, booted]) == pytest.approx(0.75)
    assert kernel_share([replayed]) is None
    assert kernel_share([]) is None


def test_the_spread_is_of_random_layouts() -> None:
    layouts = [run("default", model_cycles=500.0)]
    layouts += [run(f"random:1.{n}", model_cycles=value) for n, value in enumerate((80.0, 125.0))]
    assert layout_spread(layouts, "model_cycles") == pytest.approx(45.0)  # of 100, their mean
    assert layout_spread(layouts, "l1i_misses") is None
    assert layout_spread(layouts[:2], "model_cycles") is None


def test_functions_are_hottest_by_instructions() -> None:
    costs = {"": 200.0, "f": 40.0, "g": 150.0, "?": 10.0, "h": 0.0}
    found = hottest_costs({name: {"kernel_instructions": each} for name, each in costs.items()})
    assert [(each.name, each.share, each.entered) for each in found] == [
        ("g", 0.75, None), ("f", 0.2, None), ("?", 0.05, None),
    ]  # fmt: skip
