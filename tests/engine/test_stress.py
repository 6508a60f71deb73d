# SPDX-License-Identifier: GPL-2.0-or-later
"""What a workload asks of the kernel, from the runs of a study."""

from dataclasses import replace

import pytest

from kernsmith.document import RunView
from kernsmith.engine.stress import hottest_costs, kernel_share, layout_spread, per_operation
from kernsmith.guest.own_metric import OwnMetric
from kernsmith.guest.workloads import load_catalogue


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


def test_one_operation_takes_its_part_of_all_that_were_done() -> None:
    (pipe,) = load_catalogue().select(["pipe"])
    many = replace(pipe, rounds=10, operations=4)
    runs = [run("default", model_cycles=400.0), run("random:1.1", model_cycles=900.0)]
    assert per_operation(runs, "model_cycles", many) == pytest.approx(600 / 40)
    assert per_operation(runs, "l1i_misses", many) is None
    told = replace(many, metrics=(OwnMetric("model_cycles", "cycles"),))
    assert per_operation(runs, "model_cycles", told) is None
