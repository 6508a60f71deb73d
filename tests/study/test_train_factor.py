# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernels that are made for some workloads."""

from collections.abc import Sequence

import pytest

from kernsmith.study import Study, Variant, plan_variants
from kernsmith.study.factors import LevelError
from kernsmith.study.plan import repeated_variants

SETS = {"net": ("tcp-stream", "tcp-latency"), "fs": ("file",)}
TRAIN = ("pipe", "file", "tcp-stream")


def select(words: Sequence[str]) -> list[str]:
    return [name for word in words for name in SETS.get(word, (word,))]


def planned(*levels: str, profile: tuple[str, ...] = ("none", "autofdo")) -> tuple[Variant, ...]:
    study = Study("debian:7.3", "micro", (("profile", profile), ("train", levels)))
    return plan_variants(study, TRAIN, select)


def test_each_level_is_a_kernel_that_is_trained_on_its_workloads() -> None:
    baseline, net, both, merged = planned("net", "fs+pipe", "all")
    assert not baseline.steps
    assert net.steps[0].train == ("tcp-stream", "tcp-latency")
    assert both.steps[0].train == ("file", "pipe")
    assert merged.steps[0].train == TRAIN
    assert {kernel.trainer for kernel in (net, both, merged)} == {baseline.unnamed}


def test_every_trained_step_of_a_stack_is_trained_on_them() -> None:
    _, net = planned("net", profile=("none", "autofdo+thinlto+propeller"))
    assert [step.train for step in net.steps] == [SETS["net"], (), SETS["net"]]


def test_the_kernel_without_a_profile_is_one_whatever_is_trained_on() -> None:
    study = Study(
        "debian:7.3", "micro", (("profile", ("none", "autofdo")), ("train", ("net", "fs")))
    )
    left_out = repeated_variants(study, TRAIN, select)
    assert [(again.name, first.name) for again, first in left_out] == [
        ("profile=none train=fs", "profile=none train=net")
    ]


@pytest.mark.parametrize("level", ["", "net+", "all+net", "net+all"])
def test_levels_that_mean_nothing_are_refused(level: str) -> None:
    with pytest.raises(LevelError, match="factor 'train' has no level"):
        planned(level, "net")
