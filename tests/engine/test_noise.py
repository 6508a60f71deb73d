# SPDX-License-Identifier: GPL-2.0-or-later
"""What two halves of the runs of a machine with noise do not agree on."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from documents import study_document, verdict
from kernsmith.document import RunView
from kernsmith.engine.noise import find_noise
from kernsmith.report.study.markdown import study_markdown
from kernsmith.report.study.noise import noise_lines


def run(layout: str, cycles: float, even: float, odd: float, variant: str = "A") -> RunView:
    metrics = {"core_cycles": cycles, "core_cycles_even": even, "core_cycles_odd": odd}
    return RunView(0, 0, variant, layout, "uml", 0, "", "ok", None, None, metrics)


RUNS = (
    run("default", 100, 100, 101),
    run("random:1", 110, 110, 110),
    run("random:2", 120, 120, 121.2),
    run("random:3", 130, 133, 130),
    run("random:4", 125, 125, 132),
)


def test_halves_are_told_beside_what_layouts_do() -> None:
    (noise,) = find_noise(RUNS)
    assert (noise.variant, noise.runs) == ("A", 5)
    # Of 1/101, 0, 1/101, 3/130 and 7/132.
    assert noise.median == pytest.approx(100 / 101)
    assert noise.most == pytest.approx(700 / 132)
    assert noise.spread == pytest.approx(7.15, abs=0.01)  # of the logarithms of 110 … 125
    # The halves rank 1 2 4 3 and 1 2 3 4: 1 - 6 * 2 / (4 * 15).
    assert noise.agreement == pytest.approx(0.8)


def test_few_layouts_have_no_ranks_and_one_has_no_spread() -> None:
    (few,) = find_noise(RUNS[:3])
    assert few.agreement is None
    assert few.spread is not None
    (one,) = find_noise(RUNS[:2])
    assert one.spread is None


def test_runs_of_one_boot_are_halved_over_all_workloads() -> None:
    """Workload x takes 100 and 121 by turns, y always 50: the halves of the mean are 10 % apart."""

    def repeated(layout: str, workload: str, replicate: int, value: float) -> RunView:
        metrics = {"reference_cycles": value}
        return RunView(0, 0, "A", layout, workload, replicate, "", "ok", None, None, metrics)

    runs = [
        repeated(layout, workload, number, value * slower)
        for layout, slower in (("default", 1.0), ("random:1", 1.0), ("random:2", 1.1))
        for workload, values in (("x", (100, 121, 100, 121)), ("y", (50, 50, 50, 50)))
        for number, value in enumerate(values)
    ]
    (noise,) = find_noise(runs, "reference_cycles")
    assert (noise.metric, noise.runs) == ("reference_cycles", 3)
    assert noise.median == pytest.approx(100 * (1 - 1 / 1.1))
    assert noise.spread == pytest.approx(100 * math.log(1.1) / math.sqrt(2))
    assert noise.agreement is None
    assert find_noise(runs) == ()
    once = [run for run in runs if run.replicate == 0]
    assert find_noise(once, "reference_cycles") == ()


def test_machines_that_take_a_time_once_tell_none() -> None:
    assert find_noise(study_document([verdict(0.9)]).runs) == ()


def test_reports_say_it() -> None:
    document = replace(study_document([verdict(0.9)]), noise=find_noise(RUNS))
    (line,) = noise_lines(document)
    assert line == (
        "A: noise: two halves of the runs differ by 0.99 % in core_cycles (median of 5 binaries, "
        "at most 5.30 %); layouts spread over 7.15 % (standard deviation) and rank alike in both "
        "halves by 0.80"
    )
    assert "two halves of the runs differ by 0.99 %" in study_markdown(document)
