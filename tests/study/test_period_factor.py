# SPDX-License-Identifier: GPL-2.0-or-later
"""How densely branches are sampled in training."""

from dataclasses import replace

import pytest

from kernsmith.errors import UserError
from kernsmith.study import Study, Variant, plan_variants
from kernsmith.study.factors import LevelError
from kernsmith.study.plan import repeated_variants

TRAIN = ("pipe", "fork")
STACK = "autofdo+thinlto+propeller+layout"


def asked(*periods: str, profile: tuple[str, ...] = ("none", "autofdo")) -> Study:
    return Study("debian:7.3", "micro", (("profile", profile), ("period", periods)))


def planned(*periods: str, profile: tuple[str, ...] = ("none", "autofdo")) -> tuple[Variant, ...]:
    return plan_variants(asked(*periods, profile=profile), TRAIN)


def test_each_period_is_a_kernel_of_its_own_trained_on_the_same() -> None:
    baseline, exact, dense, thin = planned("exact", "100", "10000")
    assert [variant.steps[0].period for variant in (exact, dense, thin)] == [0, 100, 10_000]
    assert {variant.trainer for variant in (exact, dense, thin)} == {baseline.unnamed}
    assert len({str(variant.identity()) for variant in (exact, dense, thin)}) == 3


def test_variants_that_count_everything_are_what_they_were() -> None:
    with_factor, without = (
        planned("exact")[1],
        plan_variants(replace(asked("exact"), factors=(("profile", ("none", "autofdo")),)), TRAIN)[
            1
        ],
    )
    assert with_factor.identity() == without.identity()
    assert "period" not in str(without.identity())


def test_only_what_is_made_of_branches_is_sampled() -> None:
    (stack,) = planned("100", profile=(STACK,))
    assert [step.period for step in stack.steps] == [100, 0, 100, 0]
    (counters,) = planned("100", profile=("instrumented",))
    assert counters.steps[0].period == 0


def test_samples_never_say_that_code_does_not_run() -> None:
    study = asked("exact", "100")
    study = replace(study, factors=(*study.factors, ("unseen", ("cold",))))
    _, exact, sampled = plan_variants(study, TRAIN)
    assert (exact.steps[0].unseen_is_cold, sampled.steps[0].unseen_is_cold) == (True, False)


def test_a_step_that_says_nothing_of_unseen_code_is_the_same_step_in_cold_stacks() -> None:
    factors = (("profile", ("none", STACK, "instrumented")), ("unseen", ("plain", "cold")))
    study = replace(asked("exact"), factors=factors)
    cold = {variant.name: variant for variant in plan_variants(study, TRAIN)}
    counted = cold["profile=instrumented unseen=cold"]
    assert counted.steps[0].unseen_is_cold
    told = [step.unseen_is_cold for step in cold[f"profile={STACK} unseen=cold"].steps]
    assert told == [True, False, False, False]


def test_the_kernel_without_a_profile_and_one_that_the_user_brings_are_not_sampled() -> None:
    left_out = repeated_variants(asked("exact", "100"), TRAIN)
    assert [again.name for again, _ in left_out] == ["profile=none period=100"]
    given = replace(asked("exact", "100", profile=("autofdo",)), profile="/x.afdo")
    with pytest.raises(UserError, match="are the same kernel"):
        plan_variants(given, TRAIN)


@pytest.mark.parametrize(
    "level",
    ["", "0", "-1", "99", "1e3", "½", "1000000000001", "9" * 5000, "all"],
    ids=lambda level: level[:9],
)
def test_what_is_no_period_is_refused(level: str) -> None:
    with pytest.raises(LevelError, match=r"factor 'period' has no level .*: allowed are exact and"):
        planned(level, "100")
