# SPDX-License-Identifier: GPL-2.0-or-later
"""What a workload asks of the kernel, from the runs of a study."""

import pytest

from kernsmith.document import RunView
from kernsmith.engine.stress import kernel_share, layout_spread


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
