# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernels that are trained without what they are judged by."""

from dataclasses import replace

import pytest

from kernsmith.errors import UserError
from kernsmith.study import Design, Study, plan_trials, plan_variants
from kernsmith.study.file import study_from_tables
from kernsmith.study.folds import in_folds
from kernsmith.study.writing import write_study

STACKS = ("none", "autofdo", "autofdo+propeller")
STUDY = Study(
    source="debian:7.3", config="micro", factors=(("profile", STACKS),), design=Design(layouts=1)
)
WORKLOADS = ("pipe", "fork", "mmap", "signal")
TRAIN = WORKLOADS[:3]


def test_every_trained_variant_has_folds_and_the_baseline_has_none() -> None:
    variants = in_folds(plan_variants(STUDY, TRAIN), 2, WORKLOADS)
    assert [(variant.name, variant.judged_as) for variant in variants] == [
        ("profile=none", "profile=none"),
        ("profile=autofdo", "profile=autofdo"),
        ("profile=autofdo without pipe, mmap", "profile=autofdo, held out"),
        ("profile=autofdo without fork", "profile=autofdo, held out"),
        ("profile=autofdo+propeller", "profile=autofdo+propeller"),
        ("profile=autofdo+propeller without pipe, mmap", "profile=autofdo+propeller, held out"),
        ("profile=autofdo+propeller without fork", "profile=autofdo+propeller, held out"),
    ]
    assert [step.train for step in variants[5].steps] == [("fork",), ("fork",)]
    assert variants[5].trainer.identity() == variants[2].identity()
    assert variants[2].trainer.identity() == variants[0].identity()


def test_a_fold_is_measured_on_what_it_leaves_out_alone() -> None:
    variants = in_folds(plan_variants(STUDY, TRAIN), 3, WORKLOADS)
    trials = plan_trials(STUDY, variants, WORKLOADS)
    for variant in variants:
        measured = {trial.workload for trial in trials if trial.variant == variant}
        assert measured == (set(variant.without) or set(WORKLOADS))
        assert not measured & {name for step in variant.steps for name in step.train} or (
            not variant.without
        )


def test_a_profile_that_the_user_brings_has_no_folds() -> None:
    given = replace(STUDY, profile="/x.counts")
    variants = plan_variants(given, TRAIN)
    assert in_folds(variants, 2, WORKLOADS) == variants


@pytest.mark.parametrize("folds", [1, 4])
def test_more_folds_than_workloads_are_refused(folds: int) -> None:
    with pytest.raises(UserError, match=r"workloads\.folds is \d: allowed are 0 and 2 to .*\(3\)"):
        in_folds(plan_variants(STUDY, TRAIN), folds, WORKLOADS)


def test_a_study_file_has_them_and_studies_without_keep_their_digest() -> None:
    tables = {
        "source": {"use": "debian:7.3"},
        "workloads": {"folds": 3},
        "factors": {"profile": ["none", "autofdo"]},
    }
    study = study_from_tables(tables, origin="x", name="x")
    assert study.folds == 3
    assert "folds = 3" in write_study(study)
    assert "folds" not in write_study(STUDY)
    assert replace(STUDY, folds=2).digest != STUDY.digest


def test_a_special_kernel_is_folded_by_what_it_is_trained_on_itself() -> None:
    factors = (("profile", ("none", "autofdo")), ("train", ("pipe+fork", "pipe")))
    special, narrow = plan_variants(replace(STUDY, factors=factors), TRAIN)[1:]
    folds = in_folds([special], 2, WORKLOADS)[1:]
    assert [(fold.without, fold.steps[0].train) for fold in folds] == [
        (("pipe",), ("fork",)),
        (("fork",), ("pipe",)),
    ]
    with pytest.raises(UserError, match=r"trained on and measured \(1\)"):
        in_folds([narrow], 2, WORKLOADS)
