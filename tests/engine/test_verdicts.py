# SPDX-License-Identifier: GPL-2.0-or-later
"""From runs to verdicts, on made-up figures whose answer is known."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from kernsmith.engine import Silent
from kernsmith.engine.forge import Forge
from kernsmith.engine.prepare import Prepared
from kernsmith.engine.verdicts import (
    Measured,
    StudyResult,
    judge,
    observations,
    overall_log_ratios,
    primary_metric,
)
from kernsmith.errors import UserError
from kernsmith.guest.workloads import Workload
from kernsmith.kernel.source import Source
from kernsmith.ledger import RunRow, now
from kernsmith.machine.tcg import open_machine
from kernsmith.report.study.document import study_document
from kernsmith.report.study.specialities import speciality_tables
from kernsmith.study import Design, Layout, Study, Trial, plan_trials, plan_variants
from kernsmith.study.folds import in_folds

WORKLOADS = tuple(Workload(name, ("lab",), "", 1, 1, ()) for name in ("pipe", "fork", "mmap"))
Figure = Callable[[Trial], float]


def judged(study: Study, figure: Figure, train: tuple[str, ...] = ()) -> StudyResult:
    names = [workload.name for workload in WORKLOADS]
    variants = plan_variants(study, train or names)
    variants = in_folds(variants, study.folds, names)
    trials = plan_trials(study, variants, names)
    machine = open_machine("skylake")
    source = Source("linux", Path(), "7.3", "sha256:0", "test")
    prepared = Prepared(
        study, study.digest, {"x": source}, WORKLOADS, (), machine, machine, variants, trials
    )
    measured = [Measured(trial, str(trial.position), run(trial, figure(trial))) for trial in trials]
    return judge(prepared, Forge(prepared, Silent()), measured, 0.0)


def run(trial: Trial, value: float) -> RunRow:
    metrics = {"model_cycles": (value, "cycles"), "kernel_instructions": (1e6, "instructions")}
    status = "ok" if value >= 0 else "panic"
    return RunRow(str(trial.position), 1, status, "", "", now(), 1.0, metrics)


def layout_noise(trial: Trial) -> float:
    """What a layout costs, in the same way for both variants: from 0.97 to 1.03."""
    return 1 + 0.01 * (hash_of(trial.layout.seed + trial.workload) % 7 - 3)


def hash_of(text: str) -> int:
    return sum(ord(letter) * (place + 1) for place, letter in enumerate(text))


OPTIMIZE = Study(source="x", config="lab", factors=(("profile", ("none", "autofdo")),))


def test_a_known_effect_comes_out_exactly_when_layouts_are_paired() -> None:
    result = judged(OPTIMIZE, lambda t: 1e6 * layout_noise(t) * (0.9 if t.variant.steps else 1))
    for workload in ("overall", "pipe", "fork", "mmap"):
        verdict = result.verdict("profile=autofdo", workload, "model_cycles")
        assert verdict is not None
        assert verdict.effect.ratio == pytest.approx(0.9, rel=1e-12)
        assert verdict.effect.ci == pytest.approx((0.9, 0.9), rel=1e-9)
        assert verdict.significant
        assert verdict.effect.n == 8
        assert verdict.default_ratio == pytest.approx(0.9, rel=1e-12)


def test_the_default_layout_is_no_part_of_the_ratio() -> None:
    """One lucky binary says 0.5; the layouts say 0.9."""

    def figure(trial: Trial) -> float:
        lucky = trial.layout == Layout()
        return 1e6 * ((0.5 if lucky else 0.9) if trial.variant.steps else 1.0)

    verdict = judged(OPTIMIZE, figure).verdict("profile=autofdo", "overall", "model_cycles")
    assert verdict is not None
    assert verdict.default_ratio == pytest.approx(0.5)
    assert verdict.effect.ratio == pytest.approx(0.9)


def test_overall_is_the_geometric_mean_over_workloads() -> None:
    factor = {"pipe": 0.8, "fork": 0.9, "mmap": 1.1}
    result = judged(OPTIMIZE, lambda t: 1e6 * (factor[t.workload] if t.variant.steps else 1))
    verdict = result.verdict("profile=autofdo", "overall", "model_cycles")
    assert verdict is not None
    assert verdict.effect.ratio == pytest.approx((0.8 * 0.9 * 1.1) ** (1 / 3), rel=1e-12)


def test_trained_and_held_out_workloads_are_shown_apart() -> None:
    factor = {"pipe": 0.8, "fork": 1.0, "mmap": 1.0}
    result = judged(
        OPTIMIZE, lambda t: 1e6 * (factor[t.workload] if t.variant.steps else 1), train=("pipe",)
    )
    trained = result.verdict("profile=autofdo", "overall-trained", "model_cycles")
    held_out = result.verdict("profile=autofdo", "overall-held-out", "model_cycles")
    assert trained is not None
    assert held_out is not None
    assert (trained.effect.ratio, held_out.effect.ratio) == pytest.approx((0.8, 1.0))
    assert not held_out.significant


def test_labels_have_layouts_of_their_own_and_are_not_paired() -> None:
    study = Study(source="x", config="lab", factors=(("label", ("a", "b")),))
    verdict = judged(study, lambda t: 1e6 * layout_noise(t)).verdict(
        "label=b", "overall", "model_cycles"
    )
    assert verdict is not None
    assert not verdict.effect.paired
    assert not verdict.significant


def test_failed_runs_are_listed_and_left_out() -> None:
    def figure(trial: Trial) -> float:
        broken = trial.workload == "fork" and bool(trial.variant.steps)
        return -1.0 if broken else 1e6

    result = judged(OPTIMIZE, figure)
    assert result.verdict("profile=autofdo", "fork", "model_cycles") is None
    assert result.verdict("profile=autofdo", "overall", "model_cycles") is None
    assert result.verdict("profile=autofdo", "pipe", "model_cycles") is not None
    assert len(result.failures) == 9
    assert "panic: profile=autofdo, default, fork" in " ".join(result.failures)


def test_without_random_layouts_there_is_a_ratio_and_no_verdict() -> None:
    study = Study("x", "lab", OPTIMIZE.factors, design=Design(layouts=0))
    verdict = judged(study, lambda t: 9e5 if t.variant.steps else 1e6).verdict(
        "profile=autofdo", "overall", "model_cycles"
    )
    assert verdict is not None
    assert verdict.effect.ratio == pytest.approx(0.9)
    assert verdict.effect.ci is None
    assert not verdict.significant


UNTIL = Design(layouts=12, until=0.5, most_layouts=12)


def test_until_looks_at_layouts_in_the_order_in_which_they_were_drawn() -> None:
    """The tenth layout comes after the ninth, so that the p-value of an earlier look stands."""
    early = judged(replace(OPTIMIZE, design=replace(UNTIL, layouts=9)), growing)
    late = judged(replace(OPTIMIZE, design=UNTIL), growing)
    name = late.prepared.variants[1].name
    ratios = overall_log_ratios(late.prepared, late.measured, name)
    assert ratios == sorted(ratios)
    assert overall_log_ratios(early.prepared, early.measured, name) == ratios[:9]


def growing(trial: Trial) -> float:
    change = 1 + 0.001 * trial.layout_number if trial.variant.steps else 1.0
    return 1e6 * layout_noise(trial) * change


def test_until_is_about_the_metric_that_the_study_names() -> None:
    """Cycles differ from layout to layout, instructions never do: their interval is narrow."""
    cycles = judged(replace(OPTIMIZE, design=UNTIL), growing)
    design = replace(UNTIL, metric="kernel_instructions")
    instructions = judged(replace(OPTIMIZE, design=design), growing)
    assert not cycles.looks["profile=autofdo"].reached
    assert instructions.looks["profile=autofdo"].reached
    assert primary_metric(design, {"model_cycles", "kernel_instructions"}) == "kernel_instructions"
    assert primary_metric(UNTIL, {"model_cycles", "seconds"}) == "model_cycles"
    assert primary_metric(UNTIL, {"seconds"}) == "seconds"
    with pytest.raises(UserError, match="does not measure seconds; it measures model_cycles"):
        primary_metric(replace(UNTIL, metric="seconds"), {"model_cycles"})


def test_until_does_not_wait_for_a_variant_that_does_not_boot() -> None:
    result = judged(replace(OPTIMIZE, design=UNTIL), lambda t: -1 if t.variant.steps else 1e6)
    assert result.looks == {}
    assert len(result.failures) == 13 * len(WORKLOADS)


def test_a_run_that_is_planned_several_times_is_one_observation() -> None:
    """Replicates on an exact machine are one trial; two labels of one kernel are two variants."""
    study = replace(OPTIMIZE, design=Design(layouts=1, replicates=2))
    measured = judged(study, lambda t: 1e6).measured
    one = [replace(item, digest="same", run=replace(item.run, boot=7)) for item in measured]  # type: ignore[type-var]
    found = [row for row in observations(one, study.design) if row.metric == "model_cycles"]
    assert [(row.variant, row.boot) for row in found] == [
        ("profile=none", "7"),
        ("profile=autofdo", "7"),
    ]


def test_folds_judge_each_workload_by_a_kernel_that_was_not_trained_on_it() -> None:
    def figure(trial: Trial) -> float:
        trained = {name for step in trial.variant.steps for name in step.train}
        gain = 0.8 if trial.workload in trained else 0.95
        return 1e6 * layout_noise(trial) * (gain if trained else 1)

    result = judged(replace(OPTIMIZE, folds=3), figure)
    ratios = {
        verdict.variant: (verdict.effect.ratio, verdict.trained)
        for verdict in result.verdicts
        if (verdict.workload, verdict.metric) == ("fork", "model_cycles")
    }
    assert ratios == {
        "profile=autofdo": (pytest.approx(0.8), True),
        "profile=autofdo, held out": (pytest.approx(0.95), False),
    }
    whole = result.verdict("profile=autofdo, held out", "overall", "model_cycles")
    assert whole is not None
    assert whole.effect.ratio == pytest.approx(0.95)
    assert whole.effect.n == 8


def test_what_never_trains_is_held_out_of_the_whole_training() -> None:
    def figure(trial: Trial) -> float:
        names = {name for step in trial.variant.steps for name in step.train}
        return 1e6 * layout_noise(trial) * (1 - 0.1 * len(names))

    result = judged(replace(OPTIMIZE, folds=2), figure, train=("pipe", "fork"))
    ratios = {
        verdict.workload: verdict.effect.ratio
        for verdict in result.verdicts
        if (verdict.variant, verdict.metric) == ("profile=autofdo, held out", "model_cycles")
    }
    assert ratios["pipe"] == ratios["fork"] == pytest.approx(0.9)
    assert ratios["mmap"] == pytest.approx(0.8)


def test_special_kernels_are_judged_by_what_each_of_them_was_made_for() -> None:
    variants = (
        ("default", ()),
        ("ipc", (("profile", "autofdo"), ("train", "pipe"))),
        ("process", (("profile", "autofdo"), ("train", "fork"))),
        ("merged", (("profile", "autofdo"), ("train", "all"))),
    )
    study = Study("x", "micro", (), variants=variants, design=Design(layouts=6))
    own = {"ipc": "pipe", "process": "fork"}

    def figure(trial: Trial) -> float:
        name = trial.variant.name
        share = {"default": 1.0, "merged": 0.9}.get(name, 1.1)
        return 1000 * layout_noise(trial) * (0.8 if own.get(name) == trial.workload else share)

    result = judged(study, figure, train=("pipe", "fork"))
    ratios = {
        (name, made_for): verdict.effect.ratio
        for name in ("ipc", "process", "merged")
        for made_for in ("pipe", "fork")
        if (verdict := result.verdict(name, f"overall-of-{made_for}", "model_cycles"))
    }
    assert ratios == pytest.approx(
        {
            ("ipc", "pipe"): 0.8, ("ipc", "fork"): 1.1, ("process", "pipe"): 1.1,
            ("process", "fork"): 0.8, ("merged", "pipe"): 0.9, ("merged", "fork"): 0.9,
        }
    )  # fmt: skip
    table = speciality_tables(study_document(result))[0]
    assert [column.title for column in table.columns] == ["variant", "pipe", "fork", "whole mix"]
    assert [row[0] for row in table.rows] == ["ipc", "process", "merged"]
    assert str(table.rows[0][1]).startswith("0.8000* (")
    assert str(table.rows[0][2]).startswith("1.1000* (")
