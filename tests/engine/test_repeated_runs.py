# SPDX-License-Identifier: GPL-2.0-or-later
"""Drifts and outliers of real times in a study, on made-up figures that have them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from test_verdicts import OPTIMIZE, Figure, judged, layout_noise

from kernsmith.engine.disturbances import find_disturbances
from kernsmith.engine.verdicts import StudyResult
from kernsmith.machine import find_machine
from kernsmith.study import Design, Trial

REPEATED = replace(OPTIMIZE, machine="kvm", cpu="", design=Design(layouts=6, runs=8))


def real(figure: Figure, runs: int = 8) -> StudyResult:
    study = replace(REPEATED, design=replace(REPEATED.design, runs=runs))
    result = judged(study, figure)
    machine = find_machine("kvm", "", {"accel": "tcg"})
    return replace(result, prepared=replace(result.prepared, machine=machine))


NOISE = np.random.default_rng(5).normal(0, 0.003, 10_000)


def jitter(trial: Trial) -> float:
    return 1e6 * layout_noise(trial) * float(np.exp(NOISE[trial.position]))


def test_quiet_times_have_nothing_to_tell() -> None:
    assert find_disturbances(real(jitter), "model_cycles") == ()


def test_a_run_that_met_other_work_is_told_and_counts() -> None:
    def disturbed(trial: Trial) -> float:
        hit = trial.workload == "fork" and trial.block == 3 and trial.replicate == 5
        return jitter(trial) * (3.0 if hit and not trial.variant.steps else 1.0)

    (line,) = find_disturbances(real(disturbed), "model_cycles")
    assert line.startswith("profile=none on fork: 1 run is far from the like, by +")
    assert line.endswith("% at most; all count")


def test_times_that_grow_within_boots_are_told_with_by_how_much() -> None:
    def slower(trial: Trial) -> float:
        return jitter(trial) * (1 + 0.02 * trial.replicate * (trial.workload == "mmap"))

    lines = find_disturbances(real(slower), "model_cycles")
    assert lines
    assert all(" on mmap: times move by +1" in line for line in lines)
    assert all("over the runs of a boot" in line for line in lines)


def test_one_run_a_boot_is_not_looked_at() -> None:
    assert find_disturbances(real(jitter, runs=1), "model_cycles") == ()


def beside(*provenances: Mapping[str, Any]) -> tuple[str, ...]:
    """What is told of runs that have these, in turns."""
    result = real(jitter, runs=1)
    told = itertools.cycle(provenances)
    measured = tuple(
        replace(item, run=replace(item.run, provenance=next(told)))
        for item in result.measured
        if item.run is not None
    )
    return find_disturbances(replace(result, measured=measured), "model_cycles")


def test_what_went_on_beside_runs_is_told() -> None:
    whole = {"people": 1, "others": 0.4, "asleep": [12.0, 3.0], "clock_jumps": [-1.5, 0.1]}
    lines = beside(whole, {})
    assert [line.partition(",")[0] for line in lines] == [
        "somebody was logged in on the machine",
        "processors also worked for others for more than a fifth of the time",
        *(line.partition(",")[0] for line in lines[2:]),
    ]
    half = len(real(jitter, runs=1).measured) // 2
    assert f"slept during {half} of {2 * half} runs, 12 s at most" in lines[2]
    assert "by -1.5 s at most; no figure is by it" in lines[3]


def test_what_the_machine_does_to_times_is_told_once() -> None:
    turbo = {"turbo": "the frequency depends on heat"}
    assert beside({"warnings": turbo}) == ("the frequency depends on heat",)
    two = beside({"warnings": turbo}, {"warnings": turbo | {"throttling": "heat slowed it"}})
    assert two[0] == "the frequency depends on heat"
    assert two[1].startswith("heat slowed it (") and two[1].endswith(" runs)")
